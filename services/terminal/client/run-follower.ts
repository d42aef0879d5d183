import type { RunDetail } from '#kit/contracts/run.ts';
import { parsePatch } from '#kit/diff/patch.ts';
import { CoreError, codeOf, messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type { Message } from '../state/messages.ts';
import { appliedPatch, isBusy } from '../state/state.ts';
import type { Connection } from './connection.ts';
import type { Daemon } from './daemon.ts';

/** Milliseconds between two readings of a run whose events come one after the other. */
const betweenReadsMs = 100;

/** Milliseconds after which a run that is worked on is looked at again. */
const busyLookMs = 3_000;

/** Everything about one run, as long as its page is open. */
export class RunFollower {
  #runId: string;
  readonly #connection: Connection;
  readonly #dispatch: (message: Message) => void;
  readonly #closing = new AbortController();
  readonly #loaded = new Set<string>();
  #reading: Promise<void> | null = null;
  #changed = false;
  #known = false;
  /** The last event of the stream, and the last that is in what was read. */
  #streamed = 0;
  #readTo = 0;
  #soon: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;

  constructor(runId: string, connection: Connection, dispatch: (message: Message) => void) {
    this.#runId = runId;
    this.#connection = connection;
    this.#dispatch = dispatch;
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#soon);
    clearTimeout(this.#look);
  }

  async follow(): Promise<void> {
    const signal = AbortSignal.any([this.#connection.signal, this.#closing.signal]);
    let seen = 0;
    await this.#connection.again(signal, async () => {
      try {
        await this.refresh();
        for await (const news of this.#connection.daemon.runNews(this.#runId, seen, signal)) {
          if (news.kind === 'progress') {
            this.#say({ kind: 'progress', run_id: this.#runId, progress: news.progress });
            continue;
          }
          const { seq, type, data } = news.event;
          seen = seq;
          if (type === 'action_intent') this.#reportSent(data);
          this.#readSoon(seq);
        }
      } catch (error) {
        if (!this.#known && error instanceof NotFound && codeOf(error) === 'run_not_found') {
          this.#say({ kind: 'no-run', run_id: this.#runId, text: messageOf(error) });
          this.close();
          return;
        }
        throw error;
      }
      throw new Unavailable('stream_ended', 'the daemon ended the stream');
    });
  }

  /** Reads the run; asked again meanwhile, once more after that. */
  async refresh(): Promise<void> {
    if (this.#reading !== null) {
      this.#changed = true;
      return this.#reading;
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  /** Reads the run, unless what was read until then has the event already. */
  #readSoon(seq: number): void {
    this.#streamed = Math.max(this.#streamed, seq);
    if (seq <= this.#readTo) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      // When that fails the stream ends as well, and the run is read when it is there again.
      if (this.#streamed > this.#readTo) void this.refresh().catch(() => {});
    }, betweenReadsMs);
  }

  async #read(): Promise<void> {
    do {
      this.#changed = false;
      const { daemon } = this.#connection;
      const detail = await daemon.run(this.#runId, this.#closing.signal);
      this.#readTo = Math.max(this.#readTo, detail.head.seq);
      this.#known = true;
      this.#lookAgain(detail);
      this.#say({ kind: 'run', run_id: this.#runId, detail });
      this.#runId = detail.run_id;
      await this.#readTexts(daemon, detail);
    } while (this.#changed && !this.#closing.signal.aborted);
  }

  /** An executor that is killed leaves no event. */
  #lookAgain(detail: RunDetail): void {
    clearTimeout(this.#look);
    if (!isBusy(detail) || this.#closing.signal.aborted) return;
    this.#look = setTimeout(() => void this.refresh().catch(() => {}), busyLookMs);
  }

  /** What lies behind digests never changes: each is read once. */
  async #readTexts(daemon: Daemon, detail: RunDetail): Promise<void> {
    const { run_id } = detail;
    const { signal } = this.#closing;
    await Promise.all([
      this.#once(
        appliedPatch(detail),
        async (digest) => {
          const text = await daemon.patch(run_id, digest, signal);
          this.#say({ kind: 'patch', run_id, digest, patch: parsePatch(text) });
        },
        (digest, text) => this.#say({ kind: 'no-patch', run_id, digest, text }),
      ),
      this.#once(detail.issue?.content, async (digest) => {
        this.#say({ kind: 'issue', run_id, issue: await daemon.issue(run_id, digest, signal) });
      }),
      this.#once(detail.plan?.explanation, async (digest) => {
        this.#say({ kind: 'explanation', run_id, text: await daemon.text(run_id, digest, signal) });
      }),
      this.#once(
        detail.actions.find(({ kind }) => kind === 'run_validation')?.outcome?.facts.report,
        async (digest) => {
          this.#say({ kind: 'recorded-output', run_id, lines: await this.#output(daemon, digest) });
        },
      ),
    ]);
  }

  /** @param failed called where it cannot be had at all */
  async #once(
    digest: unknown,
    read: (digest: string) => Promise<void>,
    failed: (digest: string, why: string) => void = (_, why) =>
      this.#say({ kind: 'notice', notice: { tone: 'bad', text: why } }),
  ): Promise<void> {
    if (typeof digest !== 'string' || this.#loaded.has(digest)) return;
    this.#loaded.add(digest);
    try {
      await read(digest);
    } catch (error) {
      this.#loaded.delete(digest);
      if (!(error instanceof CoreError) || error instanceof Unavailable) throw error;
      failed(digest, messageOf(error));
      this.#loaded.add(digest);
    }
  }

  async #output(daemon: Daemon, digest: string): Promise<string[]> {
    const { steps } = await daemon.report(this.#runId, digest, this.#closing.signal);
    const lines: string[] = [];
    for (const { run, log, exit_code, ended_by, duration_ms } of steps) {
      const end = ended_by === 'exit' ? `exit ${exit_code}` : ended_by;
      lines.push(`$ ${run}  (${end}, ${(duration_ms / 1000).toFixed(1)} s)`);
      lines.push(
        ...(await daemon.text(this.#runId, log, this.#closing.signal)).replace(/\n$/, '').split('\n'),
        '',
      );
    }
    return lines;
  }

  #reportSent({ action_id, rendered }: Readonly<Record<string, unknown>>): void {
    if (typeof action_id !== 'string' || typeof rendered !== 'object' || rendered === null) return;
    this.#say({
      kind: 'sent',
      run_id: this.#runId,
      action_id,
      rendered: rendered as Record<string, unknown>,
    });
  }

  #say(message: Message): void {
    if (!this.#closing.signal.aborted) this.#dispatch(message);
  }
}
