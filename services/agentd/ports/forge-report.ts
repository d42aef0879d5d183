import type { ForgeKind } from '#kit/forges/registry.ts';

/** How one configured forge stands. */
export interface ForgeReport {
  readonly forge: string;
  readonly kind: ForgeKind;
  readonly url: string;
  /**
   * `limited`: it answers, and something will not work; `unused`: it has no token, so nobody is asked; `silent`: no answer in time;
   * `refused`: it does not take the token, or there is none that can be read.
   */
  readonly state: 'works' | 'limited' | 'unused' | 'silent' | 'unreachable' | 'refused';
  /** One line of text. */
  readonly detail: string;
  readonly fix: string | null;
  /** null where it was not learned. */
  readonly facts: ForgeFacts | null;
}

/** What a forge says of itself and of our token. */
export interface ForgeFacts {
  /** Login of the token's owner; null where we have no token, or it may not ask. */
  readonly account: string | null;
  /** Of the token; null where the forge does not show them. */
  readonly scopes: readonly string[] | null;
  readonly lacking: readonly LackingScope[];
  /** Questions that it did not answer in time. */
  readonly unanswered: readonly string[];
  /** Seconds that its clock is ahead of ours; null where it has none of its own. */
  readonly clock_ahead_s: number | null;
}

export interface LackingScope {
  readonly scope: string;
  /** What does not work without it, as a text. */
  readonly needed_by: string;
}
