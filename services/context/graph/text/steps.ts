import { invalidAt } from './place.ts';
import type { Token } from './tokens.ts';

/**
 * How many tokens may be looked at to tell what a query does; with more the thread that answers everybody would stand still. The
 * queries of people take some thousands.
 */
export const mostSteps = 200_000;

const taken = new WeakMap<readonly Token[], number>();

/** Counts what looking through a query takes. @throws InvalidInput (`cypher_invalid`) when it is too much */
export function step(tokens: readonly Token[], count = 1): void {
  const steps = stepsOf(tokens) + count;
  taken.set(tokens, steps);
  if (steps > mostSteps)
    throw invalidAt(
      null,
      'it is too involved to be checked; make it shorter, or send long lists and texts in params',
    );
}

export function stepsOf(tokens: readonly Token[]): number {
  return taken.get(tokens) ?? 0;
}
