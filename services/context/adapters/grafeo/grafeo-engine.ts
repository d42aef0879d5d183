import type { CypherReply } from '#kit/contracts/context/cypher.ts';
import { Refused } from '#kit/errors.ts';
import type { CypherCall, CypherEngine, CypherLimits, EngineHealth } from '../../graph/cypher-engine.ts';
import { checkCall, tooBusy, tooMuchMemory, tooSlow } from '../../graph/refusals.ts';
import { Slots } from '../../graph/slots.ts';
import { refuseWrites } from '../../graph/text/read-only.ts';
import type { Readers } from '../../record/readers.ts';
import { EngineEnded, EngineFailure, type EngineProcess } from './engine-process.ts';
import { grafeoError } from './grafeo-error.ts';
import type { GrafeoProjection } from './grafeo-projection.ts';
import type { Calls } from './messages.ts';
import { refuseUnsupported } from './unsupported.ts';

const atOnce = 4;
const mostWaiting = 64;
const watchMs = 20;

interface Running {
  readonly engine: EngineProcess;
  readonly deadline: number;
  guilty: boolean;
}

/**
 * Cypher on the embedded engine. A query that passes its time or memory ends the engine's process; the queries that ran beside it
 * are asked again of the next one, alone where nobody can tell which of them it was.
 */
export class GrafeoEngine implements CypherEngine {
  readonly #projection: GrafeoProjection;
  readonly #readers: Pick<Readers, 'ask'>;
  readonly #limits: CypherLimits;
  readonly #slots = new Slots(atOnce);
  readonly #running = new Set<Running>();
  #watch: NodeJS.Timeout | null = null;

  constructor(options: {
    readonly projection: GrafeoProjection;
    readonly readers: Pick<Readers, 'ask'>;
    readonly limits: CypherLimits;
  }) {
    this.#projection = options.projection;
    this.#readers = options.readers;
    this.#limits = options.limits;
  }

  async query({ query, params, limit, signal }: CypherCall): Promise<CypherReply> {
    const began = performance.now();
    checkCall(query, params);
    const tokens = refuseWrites(query);
    refuseUnsupported({ text: query, tokens, params });
    if (this.#slots.waiting >= mostWaiting) throw tooBusy(this.#slots.waiting);
    signal?.throwIfAborted();
    const answer = this.#answered({ query, params, rows: limit });
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
    const { changes } = await this.#readers.ask('graphLag', { after: this.#projection.position });
    const behind = changes === 0 ? 'up to date' : `${changes} changes are read before the next query`;
    const started =
      this.#projection.process === null
        ? 'not started'
        : `${Math.round(this.#projection.process.memory() ?? 0)} MB`;
    const why = this.#projection.unsandboxed;
    const without = why === null ? '' : `, without a sandbox: ${why}`;
    return { status: 'ok', detail: `grafeo, ${started}, ${behind}${without}`, lag: { changes, seconds: 0 } };
  }

  async #answered(input: Calls['run']['input']): Promise<Calls['run']['output']> {
    for (let weight = 1, attempt = 1; ; attempt++) {
      const outcome = await this.#slots.run(weight, () => this.#attempt(input));
      if (!(outcome instanceof EngineEnded)) return outcome;
      const alone = weight === atOnce;
      if (alone && outcome.reason === 'memory') throw tooMuchMemory(`${this.#limits.memory_mb} MB`);
      if (alone && outcome.reason === 'crash')
        throw new Refused(
          'cypher_not_supported',
          'the embedded engine broke off at this query; write it in another way',
        );
      if (outcome.reason === 'memory' || outcome.reason === 'crash' || attempt >= 3) weight = atOnce;
    }
  }

  /** @returns why the process ended, where this query is not known to be the cause */
  async #attempt(input: Calls['run']['input']): Promise<Calls['run']['output'] | EngineEnded> {
    const engine = await this.#projection.current();
    const running = { engine, deadline: performance.now() + this.#limits.seconds * 1_000, guilty: false };
    this.#running.add(running);
    this.#watch ??= setInterval(() => this.#check(), watchMs);
    try {
      return await engine.call('run', input);
    } catch (error) {
      if (running.guilty) throw tooSlow(this.#limits.seconds);
      if (error instanceof EngineEnded) return error;
      throw error instanceof EngineFailure ? grafeoError(error.failure, input.query) : error;
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

/** Whoever asked is told at once; the query keeps its place until it ends. */
function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
