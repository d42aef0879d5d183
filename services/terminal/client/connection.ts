import { setTimeout as pause } from 'node:timers/promises';
import type { RunSummary } from '#kit/contracts/run.ts';
import { CoreError, codeOf, messageOf, Unauthorized, Unavailable } from '#kit/errors.ts';
import type { Message } from '../state/messages.ts';
import { Daemon } from './daemon.ts';

/** Milliseconds between tries while the daemon is away. */
const again = 1_000;

export interface ConnectionOptions {
  readonly baseUrl: string;
  /** Read for each request: a token may have been replaced. */
  readonly token: () => string;
  readonly dispatch: (message: Message) => void;
  readonly startCommand: string;
  /** Folder that the token is read from. */
  readonly tokens: string;
  /** How people call the program. */
  readonly program: string;
}

/** The daemon as long as the interface runs: comes back by itself when it was away. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #ending = new AbortController();
  readonly daemon: Daemon;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.daemon = new Daemon(options);
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.daemon.close();
  }

  async followList(): Promise<void> {
    const { dispatch } = this.#options;
    await this.again(this.signal, async () => {
      const stop = new AbortController();
      const signal = AbortSignal.any([this.signal, stop.signal]);
      let loading: Promise<void> = Promise.resolve();
      let failure: unknown = null;
      const changes = new RunChanges((runs) => dispatch({ kind: 'changed-runs', runs }));
      try {
        for await (const news of this.daemon.listNews(signal)) {
          if (news.kind === 'listening') {
            dispatch({ kind: 'link', link: { state: 'live' } });
            loading = this.#loadList(signal, changes).catch((error: unknown) => {
              failure = error;
              stop.abort();
            });
          } else {
            changes.add(news.run);
          }
        }
      } catch (error) {
        throw failure ?? error;
      } finally {
        changes.flush();
        stop.abort();
        await loading;
      }
      throw failure ?? new Unavailable('stream_ended', 'the daemon ended the stream');
    });
  }

  /** Does it again and again until `signal` is aborted, with a moment between, and says why it does not succeed. */
  async again(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) return;
        this.#options.dispatch({ kind: 'link', link: this.#trouble(error) });
      }
      await pause(again, undefined, { signal }).catch(() => {});
    }
  }

  async #loadList(signal: AbortSignal, changes: RunChanges): Promise<void> {
    const { dispatch } = this.#options;
    dispatch({ kind: 'checkouts', names: await this.daemon.checkouts(signal) });
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Daemon['runs']>> = await this.daemon.runs(cursor, signal);
      cursor = page.next_cursor;
      // A page is never older than the changes that arrived before it.
      changes.flush();
      dispatch({ kind: 'runs', runs: page.runs, complete: cursor === null, problems: page.problems });
    } while (cursor !== null);
  }

  #trouble(error: unknown): (Message & { kind: 'link' })['link'] {
    const { baseUrl, startCommand, tokens, program } = this.#options;
    if (codeOf(error) === 'http_unavailable' || codeOf(error) === 'http_timeout') {
      return {
        state: 'trouble',
        word: 'no daemon',
        message: `core-agentd does not answer at ${baseUrl}`,
        hint: `Start it in another terminal: ${startCommand}`,
      };
    }
    if (error instanceof Unauthorized) {
      return {
        state: 'trouble',
        word: 'token refused',
        message: `The core-agentd at ${baseUrl} does not know the token of ${tokens}`,
        hint: `It may belong to another folder: open that one with ${program} --home FOLDER, or end it and start the one of this folder: ${startCommand}`,
      };
    }
    const hint = error instanceof CoreError && error.hint !== undefined ? error.hint : '';
    return { state: 'trouble', word: 'trouble', message: messageOf(error), hint };
  }
}

/** Milliseconds between two updates of the list, which may hold thousands. */
const batchMs = 100;

/** Collects changes of runs and reports the last one of each run together. */
export class RunChanges {
  readonly #report: (runs: readonly RunSummary[]) => void;
  readonly #changed = new Map<string, RunSummary>();
  #timer: NodeJS.Timeout | undefined;

  constructor(report: (runs: readonly RunSummary[]) => void) {
    this.#report = report;
  }

  add(run: RunSummary): void {
    this.#changed.set(run.run_id, run);
    this.#timer ??= setTimeout(() => this.flush(), batchMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#changed.size === 0) return;
    const runs = [...this.#changed.values()];
    this.#changed.clear();
    this.#report(runs);
  }
}
