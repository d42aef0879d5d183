import { makePrivateFolder } from '#kit/durable-file.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import type { Redactor } from '#kit/redaction.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import type { Usage } from '../providers/usage.ts';
import { cleanChunks } from './clean-chunks.ts';
import { type Chunk, chunkOf, type RecordedAnswer, type RecordedRefusal } from './recording.ts';
import { nextFile, writeNewFile } from './recording-folder.ts';
import { recordedRequest } from './recording-key.ts';

export interface RecorderOptions {
  readonly folder: string;
  readonly redactor: Redactor;
  /** A conversation goes on when it cannot be recorded; this tells why. */
  readonly warn: (message: string) => void;
  readonly now?: () => number;
}

/** A larger answer is not recorded. */
const largestAnswer = 64 * 1024 * 1024;

/**
 * Writes what upstreams answer into a folder, a file for each call: whole, or not at all. Failures that another attempt
 * can mend are no part of the conversation and are left out; so are answers that the client did not wait for.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #ordinals = new Map<string, number>();

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
    return {
      name: upstream.name,
      send: async (call) => {
        const started = performance.now();
        const headMs = () => milliseconds(performance.now() - started);
        try {
          const answer = await upstream.send(call);
          return { ...answer, body: this.#copied(upstream.name, call, answer, headMs()) };
        } catch (error) {
          if (error instanceof UpstreamFailure && error.remedy === 'none')
            this.#write(upstream.name, call, headMs(), null, {
              status: error.status,
              error: error.openaiError,
            });
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
    let broken: RecordedAnswer['broken'] = null;
    try {
      for await (const bytes of answer.body) {
        size += bytes.length;
        if (size <= largestAnswer) chunks.push(chunkOf(milliseconds(performance.now() - began), bytes));
        else chunks.length = 0;
        yield bytes;
      }
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || call.signal.aborted) throw error;
      broken = { status: error.status, error: error.openaiError };
      this.#recordAnswer(upstream, call, headMs, { answer, chunks, size, usage: await answer.usage, broken });
      throw error;
    }
    this.#recordAnswer(upstream, call, headMs, { answer, chunks, size, usage: await answer.usage, broken });
  }

  #recordAnswer(
    upstream: string,
    call: ModelCall,
    headMs: number,
    parts: Pick<RecordedAnswer, 'usage' | 'broken'> & {
      answer: UpstreamAnswer;
      chunks: Chunk[];
      size: number;
      usage: Usage | null;
    },
  ): void {
    const { answer, chunks, size, usage, broken } = parts;
    if (size > largestAnswer) {
      this.#options.warn(`an answer of ${size} bytes is not recorded: the limit is ${largestAnswer}`);
      return;
    }
    const { status, headers } = answer;
    const recorded: RecordedAnswer = { status, headers: { ...headers }, chunks, usage, broken };
    this.#write(upstream, call, headMs, recorded, null);
  }

  /** Never throws: the client has nothing to do with it. */
  #write(
    upstream: string,
    call: ModelCall,
    headMs: number,
    answer: RecordedAnswer | null,
    refusal: RecordedRefusal | null,
  ): void {
    const { folder, redactor, warn, now = Date.now } = this.#options;
    try {
      const { key, request } = recordedRequest(call, redactor);
      const recording = {
        recorded_at: new Date(now()).toISOString(),
        model: String(call.request.model),
        upstream: redactor.redact(upstream),
        endpoint: call.endpoint,
        head_ms: headMs,
        request,
        answer: answer && this.#cleaned(answer, call.stream),
        refusal: refusal && redactor.redactDeep(refusal),
      };
      for (;;) {
        const { file, ordinal } = nextFile(folder, key, this.#ordinals);
        const whole = { format: 1, key, ordinal, ...recording };
        if (writeNewFile(folder, file, `${JSON.stringify(whole, null, 1)}\n`)) return;
      }
    } catch (error) {
      warn(`a conversation could not be recorded in ${folder}: ${messageOf(error)}`);
    }
  }

  #cleaned(answer: RecordedAnswer, isStream: boolean): RecordedAnswer {
    const { redactor } = this.#options;
    const chunks = cleanChunks(answer.chunks, isStream, redactor);
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

function milliseconds(value: number): number {
  return Math.round(value * 10) / 10;
}
