import type { Usage } from '../usage.ts';
import type { CompletionChunks } from './chunks.ts';
import { endedEarly, StreamCutOff } from './failures.ts';
import type { LimitedReader } from './limited-reader.ts';
import type { StreamPart } from './provider.ts';

export interface AnswerBodyOptions {
  readonly reader: ReadableStreamDefaultReader<StreamPart>;
  /** Reads the same, within the limit on a wait. */
  readonly limited: LimitedReader<StreamPart>;
  readonly chunks: CompletionChunks;
  /** Events that were made of the parts read so far. */
  readonly first: string;
  readonly failure: (error: unknown) => Error;
  /** Ends the request upstream. */
  readonly abort: () => void;
}

/** As the ledger estimates. */
const bytesPerToken = 3.5;

/** The events of an answer: the upstream is read only as far as somebody wants them. */
export class AnswerBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #options: AnswerBodyOptions;
  readonly #usage = Promise.withResolvers<Usage | null>();
  readonly usage = this.#usage.promise;
  #ready: string;
  #ended = false;

  constructor(options: AnswerBodyOptions) {
    this.#options = options;
    this.#ready = options.first;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#ended) return { done: true, value: undefined };
    try {
      const { chunks, limited } = this.#options;
      while (this.#ready === '') {
        if (chunks.finished) return this.#end();
        const { done, value } = await limited.read();
        if (done) throw new StreamCutOff(endedEarly);
        this.#ready = chunks.of(value);
      }
      const bytes = Buffer.from(this.#ready);
      this.#ready = '';
      return { done: false, value: bytes };
    } catch (error) {
      this.#leave();
      throw this.#options.failure(error);
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#ended) this.#leave();
    return { done: true, value: undefined };
  }

  #end(): IteratorResult<Uint8Array, undefined> {
    this.#ended = true;
    this.#usage.resolve(this.#options.chunks.usage);
    this.#options.limited.stop();
    this.#readOn();
    return { done: true, value: undefined };
  }

  /** So that the connection can be used again; an upstream that keeps it open after its last event loses it. */
  #readOn(): void {
    const { reader, abort } = this.#options;
    const limit = setTimeout(abort, 1000).unref();
    reader
      .read()
      .catch(() => {})
      .finally(() => clearTimeout(limit));
  }

  #leave(): void {
    this.#ended = true;
    this.#options.limited.stop();
    this.#options.abort();
    this.#options.reader.cancel().catch(() => {});
    this.#usage.resolve(this.#usageSoFar());
  }

  /** Anthropic tells the input at the beginning; the output that was written is paid for too. */
  #usageSoFar(): Usage | null {
    const { usage, wordBytes } = this.#options.chunks;
    return usage && { ...usage, output: Math.max(usage.output, Math.ceil(wordBytes / bytesPerToken)) };
  }
}
