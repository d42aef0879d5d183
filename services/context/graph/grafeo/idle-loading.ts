import { guarded } from '#kit/callbacks.ts';
import type { RecordReader } from '../../record/calls.ts';
import type { graphQueries } from '../graph-queries.ts';
import type { GrafeoProjection } from './grafeo-projection.ts';

/** Fewer changes are left to the next query, which reads them in less time than a person notices. */
const minChanges = 1_000;
const intervalMs = 1_000;

/**
 * Loads the projection when much has changed and nobody writes any more, so that the next query does not have to, and tries again
 * what failed.
 */
export class IdleLoading {
  readonly #readers: RecordReader<typeof graphQueries>;
  readonly #projection: GrafeoProjection;
  #timer: NodeJS.Timeout | null = null;
  #before = 0;
  #closed = false;

  constructor(readers: RecordReader<typeof graphQueries>, projection: GrafeoProjection) {
    this.#readers = readers;
    this.#projection = projection;
  }

  start(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(
      guarded('the graph copy', () => this.#look().finally(() => this.start())),
      intervalMs,
    );
    this.#timer.unref();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { position, loading, trouble } = this.#projection;
    if (loading !== null) return;
    try {
      const { changes } = await this.#readers.ask('graphLag', { after: position });
      const isIdle = changes === this.#before;
      this.#before = changes;
      const isDue = trouble === null ? changes >= minChanges : performance.now() >= trouble.until;
      if (isIdle && isDue) await this.#load();
    } catch {
      // A query reports it; the next look comes anyway.
    }
  }

  async #load(): Promise<void> {
    const wasAsleep = this.#projection.process === null;
    await this.#projection.current();
    if (wasAsleep) await this.#projection.rest();
  }
}
