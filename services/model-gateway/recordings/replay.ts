import { setTimeout as delay } from 'node:timers/promises';
import { Redactor } from '#kit/redaction.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import { isAnswerHeader } from '../providers/openai-compatible/failures.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import { bytesOf, type RecordedAnswer, type Recording } from './recording.ts';
import { readRecordings, type SkippedFile } from './recording-folder.ts';
import { messageDigests, type RecordedRequest, recordedRequest } from './recording-key.ts';

interface ReplayOptions {
  readonly folder: string;
  /** Whether answers take as long as they did; otherwise they come as fast as they are read. */
  readonly pace: 'recorded' | 'none';
  /** Knows the same secrets as the recorder did, or none. */
  readonly redactor?: Redactor;
}

interface Known {
  readonly file: string;
  readonly recording: Recording;
}

/** Answers from a folder of recordings; nothing of it touches the network. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #redactor: Redactor;
  readonly #byKey = new Map<string, Known[]>();
  readonly #asked = new Map<string, number>();
  readonly #all: readonly Known[];
  /** Files that are not whole, with what is wrong. */
  readonly skipped: readonly SkippedFile[];

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#redactor = options.redactor ?? new Redactor();
    const { recordings, skipped } = readRecordings(options.folder);
    this.#all = recordings;
    this.skipped = skipped;
    for (const known of recordings) {
      const same = this.#byKey.get(known.recording.key) ?? [];
      this.#byKey.set(known.recording.key, [...same, known]);
    }
  }

  /** How many there are. */
  get size(): number {
    return this.#all.length;
  }

  upstream(name = 'replay'): Upstream {
    return { name, send: (call) => this.#answer(call) };
  }

  /** The nth identical request gets the nth recording, further ones the last. */
  async #answer(call: ModelCall): Promise<UpstreamAnswer> {
    call.signal.throwIfAborted();
    const asked = recordedRequest(call, this.#redactor);
    const same = this.#byKey.get(asked.key);
    if (same === undefined) throw this.#unknown(asked);
    const earlier = this.#asked.get(asked.key) ?? 0;
    this.#asked.set(asked.key, earlier + 1);
    const { recording } = same[Math.min(earlier, same.length - 1)]!;
    if (this.#options.pace === 'recorded') await delay(recording.head_ms, undefined, { signal: call.signal });
    if (recording.refusal !== null) throw new UpstreamFailure({ ...recording.refusal, remedy: 'none' });
    return served(recording.answer!, call, this.#options.pace);
  }

  #unknown(asked: ReturnType<typeof recordedRequest>): UpstreamFailure {
    const known = this.#all.map(({ file, recording: { model, request } }) => ({
      file,
      model,
      request,
      messages: messageDigests(request),
    }));
    const nearest = nearestRecordings(asked, known);
    const told =
      nearest.length === 0
        ? `the folder ${this.#options.folder} holds none`
        : `the nearest of ${known.length} are ${nearest.join('; ')}`;
    return new UpstreamFailure({
      status: 404,
      remedy: 'none',
      error: {
        message: `no recording answers this request (key ${asked.key.slice(0, 16)}); ${told}. Record it with mode "record" in config/models.json.`,
        type: 'invalid_request_error',
        param: null,
        code: 'recording_not_found',
      },
    });
  }
}

function served(answer: RecordedAnswer, call: ModelCall, pace: 'recorded' | 'none'): UpstreamAnswer {
  const length = answer.chunks.reduce((sum, chunk) => sum + bytesOf(chunk).length, 0);
  return {
    status: answer.status,
    headers: {
      ...answerHeadersOf(answer.headers),
      ...(!call.stream && answer.broken === null && { 'content-length': String(length) }),
    },
    body: chunksOf(answer, call.signal, pace),
    usage: Promise.resolve(answer.usage),
  };
}

/** People edit recordings and take them from elsewhere: only what a live upstream could have given goes on. */
function answerHeadersOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => isAnswerHeader(name) && /^[\t\x20-\x7e]*$/.test(value)),
  );
}

async function* chunksOf(
  { chunks, broken }: RecordedAnswer,
  signal: AbortSignal,
  pace: 'recorded' | 'none',
): AsyncGenerator<Uint8Array> {
  const began = performance.now();
  for (const chunk of chunks) {
    const wait = pace === 'recorded' ? chunk[0] - (performance.now() - began) : 0;
    if (wait > 1) await delay(wait, undefined, { signal });
    signal.throwIfAborted();
    yield bytesOf(chunk);
  }
  if (broken !== null) throw new UpstreamFailure({ ...broken, remedy: 'none', charged: true });
}

interface KnownRecording {
  readonly file: string;
  readonly model: string;
  readonly messages: readonly string[];
  readonly request: Readonly<Record<string, unknown>>;
}

const most = 3;

/** Words about the recordings that are most like a request, and where each begins to differ. */
function nearestRecordings(asked: RecordedRequest, known: readonly KnownRecording[]): string[] {
  const model = String(asked.request.model);
  const rated = known.map((recording) => {
    const shared = sharedPrefix(asked.messages, recording.messages);
    const sameModel = recording.model === model ? 1 : 0;
    const sameLength = recording.messages.length === asked.messages.length ? 1 : 0;
    return { recording, shared, rating: shared * 4 + sameModel * 2 + sameLength };
  });
  return rated
    .sort((a, b) => b.rating - a.rating || a.recording.file.localeCompare(b.recording.file))
    .slice(0, most)
    .map(({ recording, shared }) => `${recording.file} (${difference(asked, recording, shared)})`);
}

function sharedPrefix(asked: readonly string[], recorded: readonly string[]): number {
  const differs = asked.findIndex((digest, index) => digest !== recorded[index]);
  return differs === -1 ? asked.length : differs;
}

function difference(asked: RecordedRequest, recording: KnownRecording, shared: number): string {
  if (asked.messages.length > recording.messages.length && shared === recording.messages.length)
    return `it has ${recording.messages.length} messages, this request ${asked.messages.length}`;
  if (shared < asked.messages.length || shared < recording.messages.length)
    return shared < asked.messages.length
      ? `messages[${shared}] is another`
      : `it has ${recording.messages.length} messages, this request ${asked.messages.length}`;
  const names = [...new Set([...Object.keys(asked.request), ...Object.keys(recording.request)])];
  const others = names.filter(
    (name) => JSON.stringify(asked.request[name]) !== JSON.stringify(recording.request[name]),
  );
  return others.length === 0 ? 'it differs in nothing that is written' : `${others.join(', ')} differ`;
}
