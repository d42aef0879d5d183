import { InvalidInput } from '#kit/errors.ts';

/** The services of the embedded stack, in the order in which they are shown. */
export const stackServices = [
  'core-bus-engine',
  'core-context',
  'core-model-gateway',
  'core-agentd',
  'core-bus-worker',
  'core-bridge',
] as const;
export type StackService = (typeof stackServices)[number];

/** Which are wanted, as `--only` and `--without` say it; `core-` may be left out of a name. */
export interface Choice {
  readonly only?: string | undefined;
  readonly without?: string | undefined;
}

/**
 * Why a service is not wanted, by name; empty where all are.
 * @throws InvalidInput (`invalid_option`) naming the choices
 */
export function unwanted({ only, without }: Choice): ReadonlyMap<StackService, string> {
  const reasons = new Map<StackService, string>();
  const kept = only === undefined ? null : namesIn('--only', only);
  for (const name of stackServices) {
    if (kept !== null && !kept.includes(name)) reasons.set(name, `--only ${only} leaves it out`);
  }
  if (without === undefined) return reasons;
  for (const name of namesIn('--without', without)) reasons.set(name, `--without ${without} leaves it out`);
  if (reasons.size < stackServices.length) return reasons;
  throw new InvalidInput(
    'invalid_option',
    'nothing is left to start: --only and --without leave out every service',
  );
}

function namesIn(option: string, list: string): StackService[] {
  return list.split(',').map((word) => {
    const found = stackServices.find((name) => name === word.trim() || name === `core-${word.trim()}`);
    if (found !== undefined) return found;
    throw new InvalidInput(
      'invalid_option',
      `${option} is ${JSON.stringify(list)}: ${JSON.stringify(word)} must be one of ${stackServices.join(', ')}`,
    );
  });
}
