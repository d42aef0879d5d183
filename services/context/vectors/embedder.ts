import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, Refused } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import type { EmbeddingsClient } from './embeddings-client.ts';
import { bytesOf, type TextWithoutVector, type vectorCommands, type vectorQueries } from './vectors.ts';

export interface EmbedderOptions {
  readonly readers: RecordReader<typeof vectorQueries>;
  readonly writer: RecordWriter<typeof vectorCommands>;
  readonly client: EmbeddingsClient;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly firstWaitMs?: number;
}

/** null: there was nothing to make a vector of yet. */
export type EmbedderState =
  | { readonly answers: true | null }
  | { readonly answers: false; readonly problem: string };

const batch = 32;
const maxWaitMs = 300_000;
/** Looked for so often where nobody says that something is new. */
const restMs = 60_000;
/** A lookup waits no longer for the vector of its query. */
const queryMs = 1_000;
const none = new Uint8Array(0);

/**
 * Makes vectors of memories in the background, and of queries. Nothing waits for it: a memory without a vector is found by its
 * words alone, and while the model does not answer, so is everything.
 */
export class Embedder {
  readonly #options: EmbedderOptions;
  readonly #end = new AbortController();
  #wake = Promise.withResolvers<void>();
  #work: Promise<void> | null = null;
  /** Failures in a row. */
  #failures = 0;
  #state: EmbedderState = { answers: null };

  constructor(options: EmbedderOptions) {
    this.#options = options;
  }

  get model(): string {
    return this.#options.client.model;
  }

  get url(): string {
    return this.#options.client.url;
  }

  /** What the last attempt to make vectors of memories came to. */
  get state(): EmbedderState {
    return this.#state;
  }

  begin(): void {
    this.#work ??= this.#run();
  }

  /** Something was remembered. */
  wake(): void {
    this.#wake.resolve();
  }

  /** null where the model does not answer in time, or did not the last time. */
  async queryVector(query: string): Promise<Float32Array | null> {
    if (this.#failures > 0) return null;
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(queryMs)]);
    try {
      return (await this.#options.client.vectors([query], signal))[0] ?? null;
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#wake.resolve();
    await this.#work;
    await this.#options.client.close();
  }

  async #run(): Promise<void> {
    const { readers, logger, firstWaitMs = 1_000 } = this.#options;
    while (!this.#end.signal.aborted) {
      this.#wake = Promise.withResolvers();
      try {
        const texts = await readers.ask('memoriesWithoutVector', { model: this.model, limit: batch });
        if (texts.length > 0) await this.#embed(texts);
        if (this.#failures > 0) logger.info('the embeddings model answers again');
        this.#failures = 0;
        if (texts.length < batch) await this.#rest(restMs, this.#wake.promise);
      } catch (error) {
        if (this.#end.signal.aborted) return;
        this.#state = { answers: false, problem: messageOf(error) };
        if (this.#failures++ === 0) logger.warn(`memories get no vectors for now: ${messageOf(error)}`);
        await this.#rest(Math.min(maxWaitMs, firstWaitMs * 2 ** (this.#failures - 1)));
      }
    }
  }

  /** What is refused together is tried one by one; a text that is refused alone is left without a vector. */
  async #embed(texts: readonly TextWithoutVector[]): Promise<void> {
    const { client } = this.#options;
    try {
      const found = await client.vectors(
        texts.map(({ text }) => text),
        this.#end.signal,
      );
      await this.#store(texts, found);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (texts.length === 1) return this.#store(texts, [null]);
      for (const text of texts) await this.#embed([text]);
    }
  }

  async #store(texts: readonly TextWithoutVector[], found: readonly (Float32Array | null)[]): Promise<void> {
    // Before a lookup can see what it answered.
    this.#state = { answers: true };
    const vectors = texts.map(({ memory }, index) => {
      const vector = found[index];
      return { memory, vector: vector == null ? none : bytesOf(vector) };
    });
    await this.#options.writer.run('storeVectors', { model: this.model, vectors }, 'normal');
  }

  async #rest(ms: number, sooner?: Promise<void>): Promise<void> {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#end.signal]);
    const time = delay(ms, undefined, { signal, ref: false }).catch(() => {});
    await (sooner === undefined ? time : Promise.race([time, sooner]));
    stop.abort();
  }
}
