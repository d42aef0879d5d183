import { Redactor } from '#kit/redaction/redactor.ts';
import { dialectFor } from '../dialects/registry.ts';
import { ownFailure, UpstreamFailure } from '../providers/failure.ts';
import { isHeaderText } from '../providers/headers.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import {
  bytesOf,
  type RecordedAnswer,
  type Recording,
  readRecordings,
  type SkippedFile,
} from './recording.ts';
import { messageDigests, type RecordedRequest, recordedRequest } from './recording-key.ts';

interface Known {
  readonly file: string;
  readonly recording: Recording;
}

/** Answers from a folder of recordings; nothing of it touches the network. */
export class Replay {
  readonly #folder: string;
  readonly #redactor: Redactor;
  readonly #byKey = new Map<string, Known[]>();
  readonly #asked = new Map<string, number>();
  readonly #all: readonly Known[];
  /** Files that are not whole, with what is wrong. */
  readonly skipped: readonly SkippedFile[];

  /** @param redactor knows the same secrets as the recorder did, or none */
  constructor(folder: string, redactor = new Redactor()) {
    this.#folder = folder;
    this.#redactor = redactor;
    const { recordings, skipped } = readRecordings(folder);
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
    if (recording.refusal !== null) throw new UpstreamFailure({ ...recording.refusal, remedy: 'none' });
    return served(recording.answer!, call);
  }

  #unknown(asked: ReturnType<typeof recordedRequest>): UpstreamFailure {
    const nearest = nearestRecordings(asked, this.#all);
    const closest =
      nearest.length === 0
        ? `the folder ${this.#folder} holds none`
        : `the nearest of ${this.size} are ${nearest.join('; ')}`;
    const message = `no recording answers this request (key ${asked.key.slice(0, 16)}); ${closest}. Record it with mode "record" in config/models.json.`;
    return ownFailure(404, 'recording_not_found', message, { remedy: 'none' });
  }
}

function served(answer: RecordedAnswer, call: ModelCall): UpstreamAnswer {
  const length = answer.chunks.reduce((sum, chunk) => sum + bytesOf(chunk).length, 0);
  return {
    status: answer.status,
    headers: {
      ...answerHeadersOf(answer.headers, call),
      ...(!call.stream && answer.broken === null && { 'content-length': String(length) }),
    },
    body: chunksOf(answer, call.signal),
    usage: () => answer.usage,
  };
}

/** People edit recordings and take them from elsewhere: only what a live upstream could have given goes on. */
function answerHeadersOf(
  headers: Readonly<Record<string, string>>,
  { endpoint }: ModelCall,
): Record<string, string> {
  const { wire } = dialectFor(endpoint);
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => wire.isAnswerHeader(name) && isHeaderText(value)),
  );
}

async function* chunksOf(
  { chunks, broken }: RecordedAnswer,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    signal.throwIfAborted();
    yield bytesOf(chunk);
  }
  if (broken !== null) throw new UpstreamFailure({ ...broken, remedy: 'none', charged: true });
}

const maxNearest = 3;

/** Says which recordings are most like a request, and where each begins to differ. */
function nearestRecordings(asked: RecordedRequest, known: readonly Known[]): string[] {
  const model = String(asked.request.model);
  return known
    .map(({ file, recording }) => {
      const messages = messageDigests(recording.endpoint, recording.request);
      const shared = sharedPrefix(asked.messages, messages);
      const sameModel = recording.model === model ? 1 : 0;
      const sameLength = messages.length === asked.messages.length ? 1 : 0;
      const why = difference(asked, { request: recording.request, messages }, shared);
      return { file, why, rating: shared * 4 + sameModel * 2 + sameLength };
    })
    .sort((a, b) => b.rating - a.rating || a.file.localeCompare(b.file, 'en'))
    .slice(0, maxNearest)
    .map(({ file, why }) => `${file} (${why})`);
}

function sharedPrefix(asked: readonly string[], recorded: readonly string[]): number {
  const differs = asked.findIndex((digest, index) => digest !== recorded[index]);
  return differs === -1 ? asked.length : differs;
}

function difference(
  asked: RecordedRequest,
  recorded: Pick<RecordedRequest, 'request' | 'messages'>,
  shared: number,
): string {
  const [ours, theirs] = [asked.messages.length, recorded.messages.length];
  if (shared < ours && shared < theirs) return `messages[${shared}] is another`;
  if (ours !== theirs) return `it has ${theirs} messages, this request ${ours}`;
  const names = [...new Set([...Object.keys(asked.request), ...Object.keys(recorded.request)])];
  const others = names.filter(
    (name) => JSON.stringify(asked.request[name]) !== JSON.stringify(recorded.request[name]),
  );
  return others.length === 0 ? 'it differs in nothing that is written' : `${others.join(', ')} differ`;
}
