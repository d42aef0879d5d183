import type { Position } from '../changes.ts';
import type { GraphDigests } from '../digest.ts';

/** What the process that holds the projection is asked, one message each. */
export interface Calls {
  /** Opens what the folder holds. @param beside another process that keeps the folder: nothing in it is touched */
  open: { input: { beside: boolean }; output: { position: Position | null } };
  /** Begins a new version of the projection. @param until numbers up to this one come for the first time when it is `fresh` */
  begin: { input: { fresh: boolean; until: number }; output: null };
  /** @param changes `Changes` in JSON */
  apply: { input: { changes: string }; output: null };
  /** Ends the new version; queries that come after it see it. */
  commit: { input: { position: Position }; output: null };
  /** Gives the new version up. */
  drop: { input: null; output: null };
  run: {
    input: { query: string; params: Readonly<Record<string, unknown>>; rows: number };
    output: { columns: string[]; rows: Record<string, unknown>[]; truncated: boolean };
  };
  digests: { input: null; output: GraphDigests };
}

export type CallName = keyof Calls;

export interface CallMessage<N extends CallName = CallName> {
  readonly id: number;
  readonly name: N;
  readonly input: Calls[N]['input'];
}

/** `refusal`: the text is not allowed; `engine`: what Grafeo says of it, with its GQLSTATUS. */
export interface CallFailure {
  readonly kind: 'refusal' | 'engine' | 'too_large' | 'other';
  readonly message: string;
  readonly status: string | null;
}

export type AnswerMessage =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly failure: CallFailure };
