import type { Forge } from '../ports/forge.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';

/** What an adapter is: the composition root hands it out as the narrower port. */
export interface ConfiguredForge extends Forge, ForgeWriter {
  /** What it lacks to be asked without being named, for people; null when nothing. */
  missing(): string | null;
  /**
   * What the forge says of itself and of our token, each question with so long to answer, asked side by side.
   * @throws Interrupted when it did not answer who we are in time, else as the methods of Forge
   */
  examine(answerMs: number): Promise<ForgeFacts>;
}

export interface ForgeFacts {
  /** Login of the token's owner; null where we have no token, or it may not ask. */
  readonly account: string | null;
  /** Of the token; null where the forge does not tell. */
  readonly scopes: readonly string[] | null;
  readonly lacking: readonly LackingScope[];
  /** Questions that it did not answer in time. */
  readonly unanswered: readonly string[];
  /** Seconds that its clock is ahead of ours; null where it has none of its own. */
  readonly clock_ahead_s: number | null;
}

export interface LackingScope {
  readonly scope: string;
  /** What does not work without it, for people. */
  readonly needed_by: string;
}

export interface ForgeFolders {
  readonly stateDir: string;
  readonly configDir: string;
  readonly secretsDir: string;
}

export interface ForgeParts {
  readonly folders: ForgeFolders;
  /** First pause before a read is tried again; the second is four times as long. */
  readonly retry_ms: number;
}

/** One question to a forge. */
export interface Call {
  /** What is wanted, for messages: `repository demo/hello`. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
}

export interface RemoteForgeOptions {
  readonly name: string;
  /** What people open in a browser, for example `https://git.example.org`; the API's address follows from it. */
  readonly base_url: string;
  /** Where git reaches the repositories, beside the origin of `base_url`. */
  readonly clone_base_url: string | null;
  readonly token_file: string | null;
  /** Login that the forge sees us as; null asks the forge. */
  readonly account: string | null;
  /** For one request and its answer. */
  readonly timeout_ms: number;
  /** First pause before a read is tried again; the second is four times as long. */
  readonly retry_ms: number;
}
