import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, integerBetween, nullable, oneOf, optional, Sha256, Timestamp } from '#kit/decode.ts';
import { writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { dialectOf, endpoints } from '../providers/endpoints.ts';
import { OpenAiError } from '../providers/failure.ts';
import { keyOf } from './recording-key.ts';

const Count = integerBetween(0, Number.MAX_SAFE_INTEGER);

/** Milliseconds after the answer's head, then the bytes as text, or in base64 where they are no whole characters. */
const Chunk = t.union([t.tuple([t.number, t.string]), t.tuple([t.number, t.strict({ base64: t.string })])]);
export type Chunk = t.TypeOf<typeof Chunk>;

const counts = { input: Count, output: Count, cached: Count, cache_writes: Count };
const mark = t.literal(true);
const marks = { contradictory: mark, inputIsPartial: mark, outputIsPartial: mark };
const Usage = t.exact(t.intersection([t.type(counts), t.partial(marks)]));

/** The upstream's own words, where it said it in the dialect of the client. */
const OwnWords = t.strict({ dialect: oneOf([...new Set(Object.values(dialectOf))]), body: t.UnknownRecord });

const Refusal = t.strict({
  status: integerBetween(400, 599),
  error: OpenAiError,
  own: optional(OwnWords),
});

const Answer = t.strict({
  status: integerBetween(200, 599),
  headers: t.record(t.string, t.string),
  chunks: t.array(Chunk),
  /** null where the upstream reported none. */
  usage: nullable(Usage),
  /** What a stream broke with; null where it ended well. */
  broken: nullable(Refusal),
});
export type RecordedAnswer = t.TypeOf<typeof Answer>;

/** One file: one call and what came of it. */
export const Recording = t.strict({
  format: t.literal(1),
  key: Sha256,
  /** From 1: which of the identical requests. */
  ordinal: integerBetween(1, 1_000_000),
  recorded_at: Timestamp,
  model: t.string,
  upstream: t.string,
  endpoint: oneOf(endpoints),
  /** Milliseconds until the answer's head. */
  head_ms: t.number,
  request: t.record(t.string, t.unknown),
  /** One of the two. */
  answer: nullable(Answer),
  refusal: nullable(Refusal),
});
export type Recording = t.TypeOf<typeof Recording>;

const fileNamePattern = /^[0-9a-f]{16}-\d{4,}\.json$/;

export function chunkOf(ms: number, bytes: Uint8Array): Chunk {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  return Buffer.from(text).equals(buffer) ? [ms, text] : [ms, { base64: buffer.toString('base64') }];
}

export function bytesOf([, content]: Chunk): Buffer {
  return typeof content === 'string' ? Buffer.from(content) : Buffer.from(content.base64, 'base64');
}

/** A file of the folder that is no recording, or no whole one; it is left out. */
export interface SkippedFile {
  readonly file: string;
  readonly why: string;
}

export interface FoundRecordings {
  /** By name, so that identical requests stand in their order. */
  readonly recordings: readonly { readonly file: string; readonly recording: Recording }[];
  readonly skipped: readonly SkippedFile[];
}

/** @throws where the folder cannot be read; one that is not there holds none */
export function readRecordings(folder: string): FoundRecordings {
  const recordings: { file: string; recording: Recording }[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of namesIn(folder)) {
    if (file.startsWith('.')) {
      if (file.endsWith('.tmp'))
        skipped.push({ file, why: 'was not finished: the gateway ended while it wrote it' });
      continue;
    }
    if (!fileNamePattern.test(file)) {
      if (file.endsWith('.json'))
        skipped.push({ file, why: 'has no name of a recording, such as 0123456789abcdef-0001.json' });
      continue;
    }
    try {
      // A pipe would never end, and a link leads to what is no recording.
      if (!lstatSync(join(folder, file)).isFile()) throw new Error(`${file} is no ordinary file`);
      const recording = decodeJson(Recording, readFileSync(join(folder, file), 'utf8'), file);
      recordings.push({ file, recording: checked(recording, file) });
    } catch (error) {
      skipped.push({ file, why: messageOf(error) });
    }
  }
  return { recordings, skipped };
}

/** People may edit what a recording answers; one whose request was edited is found by what it says now. */
function checked(recording: Recording, file: string): Recording {
  if ((recording.answer === null) === (recording.refusal === null))
    throw new Error(`${file} must have either an answer or a refusal`);
  return { ...recording, key: keyOf(recording.endpoint, recording.request) };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Writes it whole or not at all, after those of identical requests. */
export function writeRecording(folder: string, recording: Omit<Recording, 'format' | 'ordinal'>): void {
  const beginning = recording.key.slice(0, 16);
  const taken = namesIn(folder).filter((name) => fileNamePattern.test(name) && name.startsWith(beginning));
  const ordinal = Math.max(0, ...taken.map((name) => Number(name.slice(17, -5)))) + 1;
  const whole: Recording = { format: 1, ordinal, ...recording };
  const file = `${beginning}-${String(ordinal).padStart(4, '0')}.json`;
  writeFileDurably(join(folder, file), `${JSON.stringify(whole, null, 1)}\n`);
}
