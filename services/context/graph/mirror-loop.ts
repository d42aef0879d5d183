import { setTimeout as delay } from 'node:timers/promises';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { RecordReader } from '../record/calls.ts';
import type { Changes, GraphDigests, Position } from './changes.ts';
import type { EngineHealth } from './cypher-engine.ts';
import type { graphQueries } from './graph-queries.ts';

/** More than the mirror takes in one transaction: in its time, or its memory. Fewer changes may pass. */
export class TooMuchAtOnce extends Error {}

/** A copy of the record's graph elsewhere, which can be made again at any time. */
export interface GraphMirror {
  /** Makes constraints and indexes where they are missing. */
  prepare(): Promise<void>;
  /** What it had seen when it was written last, without asking it. */
  readonly lastKnown: Position | null;
  /** What it has seen; null when it holds nothing, or its contents are unknown. */
  position(): Promise<Position | null>;
  /** All changes or nothing, then the position after them; twice is once. @throws TooMuchAtOnce */
  apply(changes: Changes): Promise<void>;
  /** Forgets all of Core's nodes and the position, the position first. */
  clear(): Promise<void>;
  /** What it really holds. */
  digests(): Promise<GraphDigests>;
  close(): Promise<void>;
}

interface MirrorParts {
  readonly mirror: GraphMirror;
  readonly readers: RecordReader<typeof graphQueries>;
  readonly logger: Logger;
}

const largestBatch = 2_000;
const lookMs = 500;
const firstBackoffMs = 500;
const maxBackoffMs = 30_000;

/**
 * Keeps a mirror up to date from the record's change sequence, by itself: it looks for changes, hands them over in their order, and
 * after a failure tries again, ever more slowly, from where the mirror says that it is. What is too much for it at once goes in smaller
 * parts. Writes to the record never wait for it.
 */
export class MirrorLoop {
  readonly #parts: MirrorParts;
  #position: Position | null = null;
  #batch = largestBatch;
  #prepared = false;
  #failure: string | null = null;
  #backoffMs = 0;
  #seenAt = performance.now();
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(parts: MirrorParts) {
    this.#parts = parts;
  }

  start(): void {
    inBackground('the graph copy', () => this.#look());
  }

  /** Looks now; rejects when the mirror cannot be reached. Whatever was committed before the call is there afterwards. */
  async catchUp(): Promise<void> {
    await this.#running?.catch(() => {});
    await this.#once();
  }

  /** The same, for so long at most and without failing: the mirror may be behind afterwards. */
  async settle(ms: number): Promise<void> {
    if (this.#failure !== null) return;
    await Promise.race([this.catchUp().catch(() => {}), delay(ms, undefined, { ref: false })]);
  }

  /** Empties the mirror and fills it again. */
  async rebuild(): Promise<void> {
    await this.#running?.catch(() => {});
    this.#running = this.#parts.mirror.clear().finally(() => {
      this.#position = null;
      this.#prepared = false;
      this.#running = null;
    });
    await this.#running;
    await this.catchUp();
  }

  async health(): Promise<EngineHealth> {
    const { changes } = await this.#parts.readers.ask('graphLag', {
      after: this.#position ?? this.#parts.mirror.lastKnown,
    });
    const isCurrent = changes === 0 && this.#failure === null;
    const seconds = isCurrent ? 0 : Math.round((performance.now() - this.#seenAt) / 1_000);
    const lag = { changes, seconds };
    const behindBy = `${changes} changes and ${seconds} s behind`;
    if (this.#failure !== null)
      return { status: 'degraded', detail: `neo4j, ${behindBy}: ${this.#failure}`, lag };
    return {
      status: seconds > 10 ? 'degraded' : 'ok',
      detail: changes === 0 ? 'neo4j, up to date' : `neo4j, ${behindBy}`,
      lag,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running?.catch(() => {});
    await this.#parts.mirror.close();
  }

  async #look(): Promise<void> {
    await this.catchUp().catch(() => {});
    if (this.#closed) return;
    this.#timer = setTimeout(
      guarded('the graph copy', () => this.#look()),
      this.#backoffMs || lookMs,
    );
    this.#timer.unref();
  }

  #once(): Promise<void> {
    this.#running ??= this.#follow()
      .then(
        () => this.#succeeded(),
        (error) => this.#failed(error),
      )
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  async #follow(): Promise<void> {
    if (!this.#prepared) await this.#prepare();
    while (!this.#closed) {
      const { restart, changes } = await this.#parts.readers.ask('graphChanges', {
        after: this.#position,
        limit: this.#batch,
      });
      if (restart) {
        this.#parts.logger.warn('the mirror is of another record: it is emptied and filled again');
        await this.#parts.mirror.clear();
      }
      const { deletions, nodes, edges, complete, position } = changes;
      if (restart || this.#position === null || deletions.length + nodes.length + edges.length > 0)
        if (!(await this.#applied(changes))) continue;
      this.#position = position;
      if (complete) break;
    }
    // Not sooner: what was too much may have taken a minute to be that.
    this.#batch = Math.min(largestBatch, 2 * this.#batch);
  }

  /** false where it was too much at once, and less may pass. */
  async #applied(changes: Changes): Promise<boolean> {
    try {
      await this.#parts.mirror.apply(changes);
      return true;
    } catch (error) {
      if (!(error instanceof TooMuchAtOnce) || this.#batch === 1) throw error;
      this.#batch = Math.ceil(this.#batch / 4);
      this.#parts.logger.warn('the mirror takes less at once', { changes: this.#batch, error });
      return false;
    }
  }

  /** A mirror without a position may hold a part of something: it is emptied first. */
  async #prepare(): Promise<void> {
    await this.#parts.mirror.prepare();
    this.#position = await this.#parts.mirror.position();
    if (this.#position === null) await this.#parts.mirror.clear();
    this.#prepared = true;
  }

  #succeeded(): void {
    if (this.#failure !== null) this.#parts.logger.info('the mirror has caught up');
    this.#failure = null;
    this.#backoffMs = 0;
    this.#seenAt = performance.now();
  }

  #failed(error: unknown): never {
    this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2 || firstBackoffMs);
    if (this.#failure === null)
      this.#parts.logger.warn('the mirror cannot be written; it catches up by itself', { error });
    this.#failure = messageOf(error).split('\n')[0]!;
    // What the mirror has seen is asked of it again: an answer may have been lost on its way.
    this.#prepared = false;
    throw error;
  }
}
