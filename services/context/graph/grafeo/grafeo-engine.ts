import { guarded } from '#kit/callbacks.ts';
import type { CypherReply } from '#kit/contracts/context/cypher.ts';
import { Refused, type Unavailable } from '#kit/errors.ts';
import type { RecordReader } from '../../record/calls.ts';
import type { CypherCall, CypherEngine, CypherLimits, EngineHealth } from '../cypher-engine.ts';
import type { graphQueries } from '../graph-queries.ts';
import {
  checkCall,
  cypherQueue,
  maxQueriesWaiting,
  stillLoading,
  tooBusy,
  tooMuchMemory,
  tooSlow,
  waitedTooLong,
} from '../refusals.ts';
import { refuseMissingParameters } from '../text/parameters.ts';
import { refuseWrites } from '../text/read-only.ts';
import { type Calls, EngineEnded, type EngineProcess, isEngineFailure } from './engine-process.ts';
import { grafeoError } from './grafeo-error.ts';
import type { GrafeoProjection } from './grafeo-projection.ts';
import { refuseUnsupported } from './subset.ts';

const watchMs = 20;
/** Milliseconds of each second of the limit that are left at least when a query begins beside others. */
const minMsPerSecond = 20;

interface EngineOptions {
  readonly projection: GrafeoProjection;
  readonly readers: RecordReader<typeof graphQueries>;
  readonly limits: CypherLimits;
  readonly loadingMs?: number;
}

interface Running {
  readonly engine: EngineProcess;
  readonly deadline: number;
  guilty: boolean;
}

/** A query with what its caller is entitled to. */
interface Asked {
  readonly input: Calls['run']['input'];
  readonly caller: string;
  /** By `performance.now()`: when waiting, running and running again are over. */
  readonly deadline: number;
}

type Output = Calls['run']['output'];

/**
 * Cypher on the embedded engine. A query that passes its time or memory ends the engine's process. The queries that ran beside it are
 * asked again of the next one; those that may have been the cause, or meet with it again, once more in a process of their own, one
 * after the other, where it is plain which of them it was, while all others go on.
 */
export class GrafeoEngine implements CypherEngine {
  readonly #projection: GrafeoProjection;
  readonly #readers: RecordReader<typeof graphQueries>;
  readonly #limits: CypherLimits;
  readonly #slots = cypherQueue({ concurrency: 4, perCaller: 2 });
  readonly #suspects = cypherQueue({ concurrency: 1 });
  readonly #running = new Set<Running>();
  readonly #loadingMs: number;
  /** How many queries wait until the projection is up to date. */
  #loadingFor = 0;
  #watch: NodeJS.Timeout | null = null;

  /** @param loadingMs how long a query waits until what was written before it is loaded */
  constructor({ projection, readers, limits, loadingMs = 60_000 }: EngineOptions) {
    this.#projection = projection;
    this.#readers = readers;
    this.#limits = limits;
    this.#loadingMs = loadingMs;
  }

  async query({ query, params, limit, caller, signal }: CypherCall): Promise<CypherReply> {
    const began = performance.now();
    checkCall(query, params);
    const tokens = refuseWrites(query);
    refuseMissingParameters(query, tokens, params);
    refuseUnsupported({ text: query, tokens, params });
    signal?.throwIfAborted();
    const answer = this.#answered({ query, params, rows: limit }, caller).catch((error) => {
      throw isEngineFailure(error) ? grafeoError(error, query) : error;
    });
    const { columns, rows, truncated } = await abortable(answer, signal);
    return {
      columns,
      rows,
      truncated,
      took_ms: Math.round((performance.now() - began) * 10) / 10,
      engine: 'grafeo',
    };
  }

  async health(): Promise<EngineHealth> {
    const { process, position, loading, trouble, unsandboxed } = this.#projection;
    const { changes } = await this.#readers.ask('graphLag', { after: position });
    const parts = [`grafeo, ${process === null ? 'not started' : `${Math.round(process.memory() ?? 0)} MB`}`];
    if (loading !== null) parts.push(`loading, ${loading.done} of ${loading.total}`);
    else parts.push(changes === 0 ? 'up to date' : `${changes} changes are read before the next query`);
    if (trouble !== null) parts.push(`answers are old, for it cannot be written: ${trouble.reason}`);
    if (unsandboxed !== null) parts.push(`without a sandbox: ${unsandboxed}`);
    const seconds = trouble === null ? 0 : Math.round((performance.now() - trouble.since) / 1_000);
    const lag = { changes, seconds };
    return { status: trouble === null ? 'ok' : 'degraded', detail: parts.join(', '), lag };
  }

  async #answered(input: Asked['input'], caller: string): Promise<Output> {
    await this.#upToDate();
    const deadline = performance.now() + this.#limits.seconds * 1_000;
    const asked = { input, caller, deadline };
    for (let attempt = 1; attempt <= 2; attempt++) {
      const outcome = await this.#slots.run(caller, deadline - performance.now(), () => this.#attempt(asked));
      if (!(outcome instanceof EngineEnded)) return outcome;
      if (outcome.reason === 'memory' || outcome.reason === 'crash') break;
    }
    const outcome = await this.#suspects.run(caller, deadline - performance.now(), () => this.#alone(asked));
    if (!(outcome instanceof EngineEnded)) return outcome;
    if (outcome.reason === 'memory') throw tooMuchMemory(`${this.#limits.memory_mb} MB`);
    throw new Refused(
      'cypher_not_supported',
      'the embedded engine broke off at this query; write it in another way',
    );
  }

  /** @returns why the process ended, where this query is not known to be the cause */
  async #attempt(asked: Asked): Promise<Output | EngineEnded> {
    const engine = this.#projection.process ?? (await this.#ready(asked.deadline));
    // Beginning now would end this query at once, and those beside it.
    if (asked.deadline - performance.now() < this.#limits.seconds * minMsPerSecond) throw waitedTooLong();
    return this.#run(engine, asked);
  }

  async #alone(asked: Asked): Promise<Output | EngineEnded> {
    if (this.#projection.position === null) await this.#ready(asked.deadline);
    const engine = await this.#projection.beside();
    try {
      return await this.#run(engine, asked);
    } finally {
      engine.kill('retired');
    }
  }

  /** A query sees what was written before it; loading that does not count as its time. */
  async #upToDate(): Promise<void> {
    if (this.#loadingFor >= maxQueriesWaiting) throw tooBusy(this.#loadingFor);
    this.#loadingFor++;
    try {
      await this.#ready(performance.now() + this.#loadingMs);
    } finally {
      this.#loadingFor--;
    }
  }

  /** Loading goes on when nobody waits for it any more. */
  async #ready(deadline: number): Promise<EngineProcess> {
    const current = this.#projection.current();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(this.#late()), Math.max(0, deadline - performance.now()));
    });
    return Promise.race([current, late]).finally(() => clearTimeout(timer));
  }

  /** Where nothing is loaded, the process is started again after a query that ended it. */
  #late(): Unavailable {
    const { loading, position } = this.#projection;
    if (loading === null) return position === null ? stillLoading('') : waitedTooLong();
    return stillLoading(`, ${loading.done} of ${loading.total} changes`);
  }

  async #run(engine: EngineProcess, { input, deadline }: Asked): Promise<Output | EngineEnded> {
    const running = { engine, deadline, guilty: false };
    this.#running.add(running);
    this.#watch ??= setInterval(
      guarded('the graph copy', () => this.#check()),
      watchMs,
    );
    try {
      return await engine.call('run', input);
    } catch (error) {
      if (running.guilty) throw tooSlow(this.#limits.seconds);
      if (error instanceof EngineEnded) return error;
      throw error;
    } finally {
      this.#running.delete(running);
      if (this.#running.size === 0 && this.#watch !== null) clearInterval(this.#watch);
      if (this.#running.size === 0) this.#watch = null;
    }
  }

  #check(): void {
    const now = performance.now();
    for (const running of this.#running) {
      if (now < running.deadline) continue;
      running.guilty = true;
      running.engine.kill('deadline');
    }
    for (const engine of new Set([...this.#running].map(({ engine }) => engine)))
      if ((engine.memory() ?? 0) > this.#limits.memory_mb) engine.kill('memory');
  }
}

/** Rejects at once when the caller leaves; the query keeps its place until it ends. */
function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
