import type { Permit } from '#kit/permit.ts';
import type { Forge, RepositoryRef } from '../ports/forge.ts';
import type { ForgeFacts } from '../ports/forge-report.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';

/** What an adapter is: the composition root hands it out as the narrower port. */
export interface ConfiguredForge extends Forge, ForgeWriter {
  /**
   * The repository that the URL of a clone, or of a page, belongs to; null for one of another forge. Asks nobody.
   * @param folder where a relative path starts
   */
  locate(url: string, folder: string): Located | null;
  /** What it lacks to be asked without being named, as a text; null when nothing. */
  missing(): string | null;
  /**
   * What the forge says of itself and of our token, each question with so long to answer, asked side by side.
   * @throws Interrupted when it did not answer who we are in time, else as the methods of Forge
   */
  examine(answerMs: number): Promise<ForgeFacts>;
}

/** What a URL of a forge names, by its form alone. */
export interface Located extends RepositoryRef {
  /** Of the page of an issue or pull request. */
  readonly number: number | null;
}

export interface ForgeFolders {
  readonly stateDir: string;
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
  readonly signal?: AbortSignal | undefined;
  /** Of a write. */
  readonly permit?: Permit | undefined;
}

export interface RemoteForgeOptions extends Pick<ForgeParts, 'retry_ms'> {
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
}

export type Query = Readonly<Record<string, string | number>>;

export interface RemoteReply {
  readonly data: unknown;
  readonly header: (name: string) => string | null;
}

/** The REST API of one forge: reads are tried again, writes never; every answer that is no success is one of our errors. */
export interface RemoteClient {
  /** The query for pages of the largest size. */
  readonly pageSize: Query;
  /** @param path below the API's address, its parts not encoded */
  get(path: readonly string[], call: Call, query?: Query): Promise<RemoteReply>;
  write(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: readonly string[],
    call: Call,
    body?: Readonly<Record<string, unknown>>,
  ): Promise<RemoteReply>;
}
