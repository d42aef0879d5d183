import type { Token } from '../text/tokens.ts';

export interface Query {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly params: Readonly<Record<string, unknown>>;
}

/** Why the token there begins something that Grafeo answers wrongly or not at all; null when it does not. */
export type Problem = (query: Query, index: number) => string | null;
