import * as t from 'io-ts';
import { integerBetween, nullable, oneOf, Sha256, Timestamp } from '#kit/decode.ts';

const Count = integerBetween(0, Number.MAX_SAFE_INTEGER);

/** Milliseconds after the answer's head, then the bytes as text, or in base64 where they are no whole characters. */
const Chunk = t.union([t.tuple([t.number, t.string]), t.tuple([t.number, t.strict({ base64: t.string })])]);
export type Chunk = t.TypeOf<typeof Chunk>;

const OpenAiError = t.strict({
  message: t.string,
  type: t.string,
  param: nullable(t.string),
  code: nullable(t.string),
});

const Usage = t.strict({ input: Count, output: Count, cached: Count, cache_writes: Count });

const Answer = t.strict({
  status: integerBetween(200, 599),
  headers: t.record(t.string, t.string),
  chunks: t.array(Chunk),
  /** null where the upstream told none. */
  usage: nullable(Usage),
  /** What a stream broke with; null where it ended well. */
  broken: nullable(t.strict({ status: integerBetween(400, 599), error: OpenAiError })),
});
export type RecordedAnswer = t.TypeOf<typeof Answer>;

const Refusal = t.strict({ status: integerBetween(400, 599), error: OpenAiError });
export type RecordedRefusal = t.TypeOf<typeof Refusal>;

/** One file: one call and what came of it. */
export const Recording = t.strict({
  format: t.literal(1),
  key: Sha256,
  /** From 1: which of the identical requests. */
  ordinal: integerBetween(1, 1_000_000),
  recorded_at: Timestamp,
  model: t.string,
  upstream: t.string,
  endpoint: oneOf(['chat/completions', 'embeddings']),
  /** Milliseconds until the answer's head. */
  head_ms: t.number,
  request: t.record(t.string, t.unknown),
  /** One of the two. */
  answer: nullable(Answer),
  refusal: nullable(Refusal),
});
export type Recording = t.TypeOf<typeof Recording>;

export const fileNamePattern = /^[0-9a-f]{16}-\d{4,}\.json$/;

export function fileNameOf(key: string, ordinal: number): string {
  return `${key.slice(0, 16)}-${String(ordinal).padStart(4, '0')}.json`;
}

export function chunkOf(ms: number, bytes: Uint8Array): Chunk {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  return Buffer.from(text).equals(buffer) ? [ms, text] : [ms, { base64: buffer.toString('base64') }];
}

export function bytesOf([, content]: Chunk): Buffer {
  return typeof content === 'string' ? Buffer.from(content) : Buffer.from(content.base64, 'base64');
}
