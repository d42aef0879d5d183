import { mkdirSync, rmSync } from 'node:fs';
import { Unavailable } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Changes, Position } from '../../graph/changes.ts';
import type { Readers } from '../../record/readers.ts';
import { EngineEnded, EngineFailure, EngineProcess } from './engine-process.ts';
import { isolatedCommand, plainCommand } from './isolation.ts';

const batch = 5_000;

export interface ProjectionOptions {
  readonly readers: Pick<Readers, 'ask'>;
  /** Holds the projection and nothing else; it is deleted when it cannot be read. */
  readonly folder: string;
  readonly memoryMb: number;
  readonly logger: Logger;
  /** How the process is started in a sandbox; null where it cannot be. */
  readonly sandbox?: typeof isolatedCommand;
}

/** The projection's process, started when it is needed and brought up to the record before it is asked. */
export class GrafeoProjection {
  readonly #options: ProjectionOptions;
  #process: EngineProcess | null = null;
  #position: Position | null = null;
  #isolated = true;
  #unsandboxed: string | null = null;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: ProjectionOptions) {
    this.#options = options;
  }

  get position(): Position | null {
    return this.#position;
  }

  /** Why callers' text runs with network and files at hand; null where it does not. */
  get unsandboxed(): string | null {
    return this.#unsandboxed;
  }

  get process(): EngineProcess | null {
    return this.#process?.ended === false ? this.#process : null;
  }

  /** A process that has seen everything that was committed before the call. */
  current(): Promise<EngineProcess> {
    const work = this.#work.then(() => this.#refreshed());
    this.#work = work.catch(() => {});
    return work;
  }

  /** Forgets the projection; the next call of `current` makes it again. */
  reset(): Promise<void> {
    const work = this.#work.then(() => this.#forget());
    this.#work = work.catch(() => {});
    return work;
  }

  close(): void {
    this.#process?.kill('retired');
  }

  /** Queries that run beside it may end the process; an engine that cannot open what is there begins anew. */
  async #refreshed(): Promise<EngineProcess> {
    for (let attempt = 1; ; attempt++) {
      try {
        const engine = await this.#started();
        return await this.#fed(engine);
      } catch (error) {
        if (attempt === 4)
          throw new Unavailable(
            'cypher_unavailable',
            `the embedded engine does not start: ${(error as Error).message}`,
            { cause: error, retryAfter: 5 },
          );
        const isOurs = error instanceof EngineEnded && error.reason !== 'crash';
        if (!(error instanceof EngineEnded) && !(error instanceof EngineFailure)) throw error;
        if (!isOurs) this.#options.logger.warn('the graph projection is made anew', { error });
        if (!isOurs) this.#forget();
      }
    }
  }

  async #started(): Promise<EngineProcess> {
    if (this.process !== null) return this.process;
    const { folder, sandbox = isolatedCommand } = this.#options;
    const isolated = this.#isolated ? sandbox(folder) : null;
    if (isolated === null && this.#unsandboxed === null) this.#warn('bwrap is not installed');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const engine = new EngineProcess(isolated ?? plainCommand(folder));
    try {
      this.#position = (await engine.call('open', null)).position;
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

  #warn(why: string, error?: unknown): void {
    this.#unsandboxed = why;
    this.#options.logger.warn(
      `Cypher runs without a sandbox of its own: ${why}`,
      error === undefined ? {} : { error },
    );
  }

  async #fed(engine: EngineProcess): Promise<EngineProcess> {
    let { restart, changes, last } = await this.#changes(this.#position);
    const fresh = restart || this.#position === null;
    if (!fresh && isEmpty(changes)) return engine;
    await engine.call('begin', { fresh, until: last });
    let fed = 0;
    for (;;) {
      await engine.call('apply', { changes });
      fed += changes.nodes.length + changes.edges.length;
      if (changes.complete) break;
      ({ restart, changes, last } = await this.#changes(changes.position));
      if (restart) throw new EngineEnded('retired', 'the record was made anew');
    }
    await engine.call('commit', { position: changes.position });
    this.#position = changes.position;
    return this.#slimmed(engine, fed);
  }

  /** Loading takes more memory than having loaded, and gives little of it back: a new process is smaller. */
  async #slimmed(engine: EngineProcess, fed: number): Promise<EngineProcess> {
    const { memoryMb } = this.#options;
    const taken = engine.memory() ?? 0;
    if (taken < memoryMb / 2 || fed === 0) return engine;
    this.#process = null;
    void retire(engine);
    const slim = await this.#started();
    const needed = slim.memory() ?? 0;
    if (needed < memoryMb * 0.9) return slim;
    const hint = 'raise cypher.memory_mb in context.json, or configure neo4j';
    const detail = `the graph takes ${Math.round(needed)} MB of the ${memoryMb} MB that the embedded engine may have`;
    throw new Unavailable('cypher_unavailable', detail, { hint, retryAfter: 60 });
  }

  #changes(after: Position | null) {
    return this.#options.readers.ask('graphChanges', { after, most: batch });
  }

  #forget(): void {
    this.#process?.kill('retired');
    this.#process = null;
    this.#position = null;
    rmSync(this.#options.folder, { recursive: true, force: true });
  }
}

function isEmpty({ deletions, nodes, edges, complete }: Changes): boolean {
  return deletions.length + nodes.length + edges.length === 0 && complete;
}

/** Once its last query is answered. */
async function retire(engine: EngineProcess): Promise<void> {
  while (engine.load > 0) await new Promise((resolve) => setTimeout(resolve, 50).unref());
  engine.kill('retired');
}
