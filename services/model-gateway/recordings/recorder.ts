import { makePrivateFolder } from '#kit/durable-file.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { dialectFor } from '../dialects/registry.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import { cleanChunks } from './clean-chunks.ts';
import { type Chunk, chunkOf, type RecordedAnswer, type Recording, writeRecording } from './recording.ts';
import { recordedRequest } from './recording-key.ts';

export interface RecorderOptions {
  readonly folder: string;
  readonly redactor: Redactor;
  /** A conversation continues when it cannot be recorded; gets the reason. */
  readonly warn: (message: string) => void;
}

/** A larger answer is not recorded. */
const maxAnswer = 64 * 1024 * 1024;

/**
 * Writes what upstreams answer into a folder, a file for each call: whole, or not at all. Failures that another attempt
 * can mend are no part of the conversation and are left out; so are answers that the client did not wait for.
 */
export class Recorder {
  readonly #options: RecorderOptions;

  /** @throws Failed (`recordings_unusable`) where the folder cannot be made */
  constructor(options: RecorderOptions) {
    this.#options = options;
    try {
      makePrivateFolder(options.folder);
    } catch (cause) {
      throw new Failed(
        'recordings_unusable',
        `the folder of recordings ${options.folder} cannot be made: ${messageOf(cause)}`,
        { cause, hint: 'set recordings in config/models.json to a folder that can be written' },
      );
    }
  }

  /** The upstream itself, with its answers recorded. */
  around(upstream: Upstream): Upstream {
    const { name } = upstream;
    return {
      name,
      answers: (endpoint) => upstream.answers?.(endpoint) ?? true,
      send: async (call) => {
        const started = performance.now();
        try {
          const answer = await upstream.send(call);
          return { ...answer, body: this.#copied(name, call, answer, millisecondsSince(started)) };
        } catch (error) {
          if (error instanceof UpstreamFailure && error.remedy === 'none')
            this.#write(name, call, millisecondsSince(started), { answer: null, refusal: wordsOf(error) });
          throw error;
        }
      },
    };
  }

  async *#copied(
    upstream: string,
    call: ModelCall,
    answer: UpstreamAnswer,
    headMs: number,
  ): AsyncGenerator<Uint8Array> {
    const began = performance.now();
    const chunks: Chunk[] = [];
    let size = 0;
    const record = (broken: RecordedAnswer['broken']) => {
      const { status, headers } = answer;
      const recorded = { status, headers: { ...headers }, chunks, usage: answer.usage(), broken };
      if (size <= maxAnswer) this.#write(upstream, call, headMs, { answer: recorded, refusal: null });
      else this.#options.warn(`an answer of ${size} bytes is not recorded: the limit is ${maxAnswer}`);
    };
    try {
      for await (const bytes of answer.body) {
        size += bytes.length;
        if (size <= maxAnswer) chunks.push(chunkOf(millisecondsSince(began), bytes));
        else chunks.length = 0;
        yield bytes;
      }
    } catch (error) {
      if (error instanceof UpstreamFailure && !call.signal.aborted) record(wordsOf(error));
      throw error;
    }
    record(null);
  }

  /** Never throws: the client has nothing to do with it. */
  #write(
    upstream: string,
    call: ModelCall,
    head_ms: number,
    { answer, refusal }: Pick<Recording, 'answer' | 'refusal'>,
  ): void {
    const { folder, redactor, warn } = this.#options;
    try {
      const { key, request } = recordedRequest(call, redactor);
      writeRecording(folder, {
        key,
        recorded_at: new Date().toISOString(),
        model: String(call.request.model),
        upstream: redactor.redact(upstream),
        endpoint: call.endpoint,
        head_ms,
        request,
        answer: answer && this.#cleaned(answer, call),
        refusal: refusal && redactor.redactDeep(refusal),
      });
    } catch (error) {
      warn(`a conversation could not be recorded in ${folder}: ${messageOf(error)}`);
    }
  }

  #cleaned(answer: RecordedAnswer, { endpoint, stream }: ModelCall): RecordedAnswer {
    const { redactor } = this.#options;
    const { deltas } = dialectFor(endpoint).wire.events;
    const chunks = cleanChunks(answer.chunks, stream ? deltas : null, redactor);
    // A length may have changed, and is known again when it is served.
    const { 'content-length': _, ...headers } = answer.headers;
    return {
      ...answer,
      headers: redactor.redactDeep(headers),
      chunks: [...chunks],
      broken: redactor.redactDeep(answer.broken),
    };
  }
}

function wordsOf({ status, openaiError, own }: UpstreamFailure): NonNullable<Recording['refusal']> {
  return {
    status,
    error: openaiError,
    own: own === null ? undefined : { dialect: own.dialect, body: { ...own.body } },
  };
}

/** To a tenth. */
function millisecondsSince(start: number): number {
  return Math.round((performance.now() - start) * 10) / 10;
}
