import { mkdirSync, rmSync } from 'node:fs';
import { inBackground } from '#kit/callbacks.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { RecordReader } from '../../record/calls.ts';
import type { Changes, Position } from '../changes.ts';
import type { graphQueries } from '../graph-queries.ts';
import { readCurrent } from './current-version.ts';
import {
  type CommandLine,
  EngineEnded,
  EngineProcess,
  isEngineFailure,
  isolatedCommand,
  plainCommand,
} from './engine-process.ts';

const batchSize = 400;

export interface ProjectionOptions {
  readonly readers: RecordReader<typeof graphQueries>;
  /** Holds the projection and nothing else; it is deleted when it cannot be read. */
  readonly folder: string;
  readonly memoryMb: number;
  readonly logger: Logger;
  /** How the process is started in a sandbox; null where it cannot be. */
  readonly sandbox?: typeof isolatedCommand;
}

/** Changes that are in the projection being made, of all that have to be. */
export interface Loading {
  readonly done: number;
  readonly total: number;
}

/**
 * The projection's process, started when it is needed and brought up to the record before it is asked. A version that cannot be
 * written leaves the one before, which is served until there is a new one.
 */
export class GrafeoProjection {
  readonly #options: ProjectionOptions;
  /** What the version on the disk has seen. */
  position: Position | null;
  /** null: nothing is being loaded. */
  loading: Loading | null = null;
  /** Why the version on the disk is not the newest; null when nothing hinders it. */
  trouble: FeedTrouble | null = null;
  /** Why callers' text runs with network and files at hand; null where it does not. */
  unsandboxed: string | null = null;
  #process: EngineProcess | null = null;
  #isolated = true;
  #work: Promise<unknown> = Promise.resolve();
  /** The next version is built from nothing. */
  #rebuilds = false;

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.position = readCurrent(options.folder)?.position ?? null;
  }

  get process(): EngineProcess | null {
    return this.#process?.ended === false ? this.#process : null;
  }

  /** A process that has seen everything that was committed before the call, unless there is trouble. */
  current(): Promise<EngineProcess> {
    return this.#next(() => this.#refreshed());
  }

  /** @throws Unavailable (`cypher_unavailable`) where `current` would give what is old */
  async refresh(): Promise<void> {
    await this.#withoutTrouble(() => this.#refreshed());
  }

  /** Makes the projection again from nothing; the one before is there until then. */
  async rebuild(): Promise<void> {
    await this.#withoutTrouble(() => {
      this.#rebuilds = true;
      return this.#refreshed();
    });
  }

  /** Tries at once, whatever failed before. @throws Unavailable (`cypher_unavailable`) where it fails */
  async #withoutTrouble(work: () => Promise<unknown>): Promise<void> {
    if (this.trouble !== null) this.trouble = { ...this.trouble, until: 0 };
    await this.#next(work);
    if (this.trouble === null) return;
    const detail = `the graph's projection cannot be written, the one before is kept: ${this.trouble.reason}`;
    throw new Unavailable('cypher_unavailable', detail, { retryAfter: 30 });
  }

  /** Deletes the projection; the next call of `current` makes it again. */
  reset(): Promise<void> {
    return this.#next(async () => this.#forget());
  }

  /** Ends the process until it is needed again, if it does nothing. */
  rest(): Promise<void> {
    return this.#next(async () => {
      if (this.#process?.load !== 0) return;
      this.#process.kill('retired');
      this.#process = null;
    });
  }

  /** Another process on the same version, for what nobody else should be near. The caller ends it. */
  async beside(): Promise<EngineProcess> {
    for (let attempt = 1; ; attempt++) {
      const engine = new EngineProcess(this.#command() ?? plainCommand(this.#options.folder));
      try {
        await engine.call('open', { beside: true });
        return engine;
      } catch (error) {
        engine.kill('crash');
        // The version was replaced while it was opened.
        if (attempt === 2) throw error;
      }
    }
  }

  close(): void {
    this.#process?.kill('retired');
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#work.then(work);
    this.#work = next.catch(() => {});
    return next;
  }

  /** Queries that run beside it may end the process; an engine that cannot open what is there starts from nothing. */
  async #refreshed(): Promise<EngineProcess> {
    for (let attempt = 1; ; attempt++) {
      let engine: EngineProcess | null = null;
      try {
        engine = await this.#started();
        return await this.#fed(engine);
      } catch (error) {
        if (!(error instanceof EngineEnded) && !isEngineFailure(error)) throw error;
        if (attempt === 4) throw this.#gaveUp(error);
        if (error instanceof EngineEnded && error.reason !== 'crash') continue;
        if (engine === null || this.position === null) this.#forgetAfter(error);
        else await this.#keepOld(engine, error);
      } finally {
        this.loading = null;
      }
    }
  }

  #gaveUp(error: Error): Unavailable {
    this.#noteTrouble(messageOf(error));
    const detail = `the embedded engine does not start: ${messageOf(error)}`;
    return new Unavailable('cypher_unavailable', detail, { cause: error, retryAfter: 5 });
  }

  #forgetAfter(error: Error): void {
    this.#options.logger.warn('the graph projection is rebuilt', { error });
    this.#forget();
  }

  /** The first time the new version is made from nothing: what it was made from may be damaged. */
  async #keepOld(engine: EngineProcess, error: Error): Promise<void> {
    await engine.call('drop', null).catch(() => {});
    if (!this.#rebuilds && !isNoRoom(error)) {
      this.#rebuilds = true;
      return;
    }
    this.#rebuilds = false;
    if (this.trouble === null)
      this.#options.logger.warn('the graph projection cannot be written; the one before is kept', { error });
    this.#noteTrouble(messageOf(error).split('\n')[0]!);
  }

  #noteTrouble(reason: string): void {
    const now = performance.now();
    this.trouble = { reason, since: this.trouble?.since ?? now, until: now + retryMs };
  }

  async #started(): Promise<EngineProcess> {
    if (this.process !== null) return this.process;
    const { folder } = this.#options;
    const isolated = this.#command();
    if (isolated === null && this.unsandboxed === null) this.#warn('bwrap is not installed');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const engine = new EngineProcess(isolated ?? plainCommand(folder));
    try {
      this.position = (await engine.call('open', { beside: false })).position;
      this.#process = engine;
      return engine;
    } catch (error) {
      engine.kill('crash');
      if (isolated === null || !/bwrap/.test((error as Error).message)) throw error;
      this.#warn('bwrap does not work here', error);
      this.#isolated = false;
      return this.#started();
    }
  }

  #command(): CommandLine | null {
    const { folder, sandbox = isolatedCommand } = this.#options;
    return this.#isolated ? sandbox(folder) : null;
  }

  #warn(why: string, error?: unknown): void {
    this.unsandboxed = why;
    this.#options.logger.warn(
      `Cypher runs without a sandbox of its own: ${why}`,
      error === undefined ? {} : { error },
    );
  }

  async #fed(engine: EngineProcess): Promise<EngineProcess> {
    let { restart, last, changes } = await this.#changes(this.position);
    if (restart) this.position = null;
    const fresh = this.position === null || this.#rebuilds;
    if (!fresh && sizeOf(changes) === 0 && changes.complete) {
      this.trouble = null;
      return engine;
    }
    if (this.position !== null && this.trouble !== null && performance.now() < this.trouble.until)
      return engine;
    if (fresh && this.position !== null) ({ last, changes } = await this.#changes(null));
    const { changes: total } = await this.#options.readers.ask('graphLag', {
      after: fresh ? null : this.position,
    });
    await engine.call('begin', { fresh, until: last });
    let fed = 0;
    for (;;) {
      this.loading = { done: fed, total };
      await engine.call('apply', { changes });
      fed += sizeOf(changes);
      if (changes.complete) break;
      ({ restart, changes } = await this.#changes(changes.position));
      if (restart) throw new EngineEnded('retired', 'the record was rebuilt');
    }
    await engine.call('commit', { position: changes.position });
    this.position = changes.position;
    this.#rebuilds = false;
    this.trouble = null;
    return this.#slimmed(engine, fed);
  }

  /** Loading takes more memory than having loaded, and gives little of it back: a new process is smaller. */
  async #slimmed(engine: EngineProcess, fed: number): Promise<EngineProcess> {
    const { memoryMb } = this.#options;
    const taken = engine.memory() ?? 0;
    if (taken < memoryMb / 2 || fed === 0) return engine;
    this.#process = null;
    inBackground('the graph copy', () => retire(engine));
    const slim = await this.#started();
    const needed = slim.memory() ?? 0;
    if (needed < memoryMb * 0.9) return slim;
    const hint = 'raise cypher.memory_mb in context.json, or configure neo4j';
    const detail = `the graph takes ${Math.round(needed)} MB of the ${memoryMb} MB that the embedded engine may have`;
    throw new Unavailable('cypher_unavailable', detail, { hint, retryAfter: 60 });
  }

  #changes(after: Position | null) {
    return this.#options.readers.ask('graphChanges', { after, limit: batchSize });
  }

  #forget(): void {
    this.#process?.kill('retired');
    this.#process = null;
    this.position = null;
    rmSync(this.#options.folder, { recursive: true, force: true });
  }
}

function sizeOf({ deletions, nodes, edges }: Changes): number {
  return deletions.length + nodes.length + edges.length;
}

function isNoRoom(error: Error): boolean {
  return /ENOSPC|EDQUOT|EFBIG|EROFS|EIO|no space left|too large|os error (28|27|30|5|122)/i.test(
    error.message,
  );
}

/** Once its last query is answered. */
async function retire(engine: EngineProcess): Promise<void> {
  while (engine.load > 0) await new Promise((resolve) => setTimeout(resolve, 50).unref());
  engine.kill('retired');
}

const retryMs = 5_000;

/** Why the projection cannot be brought up to the record; times are those of `performance.now()`. */
export interface FeedTrouble {
  readonly reason: string;
  readonly since: number;
  /** When writing is tried again. */
  readonly until: number;
}
