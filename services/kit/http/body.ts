import type { IncomingMessage } from 'node:http';
import type * as t from 'io-ts';
import { guarded } from '../callbacks.ts';
import { unknownKeys } from '../config/unknown-keys.ts';
import { decode, parseJson } from '../decode.ts';
import { CoreError, Interrupted, InvalidInput, TooLarge } from '../errors.ts';
import { UnsupportedMediaType } from './problem.ts';
import type { RouteBody, UploadTypes } from './route.ts';

/** How much of a refused body is read all the same, so that its client comes to read why; bytes and milliseconds. */
const drained = { most: 64 * 1024 * 1024, totalMs: 10_000, idleMs: 2_000 };

/** What a handler gets of a request's body. @param limit bytes of a JSON body */
export function readBody(request: IncomingMessage, body: RouteBody, limit: number): unknown {
  switch (body.kind) {
    case 'none':
      return null;
    case 'json':
      return readJsonBody(request, body.codec, { limit, optional: body.optional });
    case 'form':
      return readForm(request, body.codec, limit);
    case 'bytes':
      return readJsonBytes(request, body.limit, body.typeHint);
    case 'upload':
      return readUpload(request, body);
  }
}

/** Reads, parses and decodes a JSON body. `{}` stands for an absent one where `optional`. */
async function readJsonBody(
  request: IncomingMessage,
  codec: t.Mixed,
  { limit, optional }: { readonly limit: number; readonly optional: boolean },
): Promise<unknown> {
  if (optional && !hasBody(request)) return decode(codec, {}, 'the body');
  const text = decodeUtf8(await readJsonBytes(request, limit));
  if (optional && text.trim() === '') return decode(codec, {}, 'the body');
  const parsed = parseJson(text, 'the body');
  const value = decode(codec, parsed, 'the body');
  const unknown = unknownKeys(codec, parsed);
  const [first] = unknown;
  if (first === undefined) return value;
  throw new InvalidInput('invalid_input', `the body: ${first.pointer} ${first.detail}`, { errors: unknown });
}

const formType = 'application/x-www-form-urlencoded';

/** Fields that the codec does not know are refused like members of a JSON body. */
async function readForm(request: IncomingMessage, codec: t.Mixed, limit: number): Promise<unknown> {
  const type = mediaType(request);
  if (type !== formType) throw wrongType(type, formType);
  checkEncoding(request);
  const fields = new URLSearchParams((await readBytes(request, limit)).toString('latin1'));
  const names = new Set(fields.keys());
  const form = Object.fromEntries(
    [...names].map((name) => {
      const values = fields.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
  const value = decode(codec, form, 'the form');
  const [unknown] = unknownKeys(codec, form);
  if (unknown === undefined) return value;
  throw new InvalidInput('invalid_input', `the form: ${unknown.pointer} ${unknown.detail}`, {
    errors: [unknown],
  });
}

/** The bytes of a body that says to be JSON, whatever they are. */
async function readJsonBytes(request: IncomingMessage, limit: number, hint?: string): Promise<Buffer> {
  checkContentType(request.headers['content-type'], hint);
  checkEncoding(request);
  return await readBytes(request, limit);
}

/**
 * A body piece by piece, as text. A request that ends before its body, or is larger than the limit, throws where it is read.
 * @throws UnsupportedMediaType at once
 */
function readUpload(
  request: IncomingMessage,
  { types, limit }: { readonly types: UploadTypes; readonly limit: number },
): AsyncIterable<string> {
  const type = mediaType(request);
  if (!types.includes(type)) throw wrongType(type, types.join(' or '));
  checkEncoding(request);
  return pieces(request, limit);
}

/** Without its parameters; empty where the request names none. */
function mediaType({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function wrongType(type: string, wanted: string): UnsupportedMediaType {
  return new UnsupportedMediaType(
    'content_type_not_supported',
    `content-type is ${type === '' ? 'missing' : JSON.stringify(type)}: must be ${wanted}`,
  );
}

async function* pieces(request: IncomingMessage, limit: number): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of chunksOf(request, limit))
    yield text(() => decoder.decode(chunk, { stream: true }));
  yield text(() => decoder.decode());
}

function text(decode: () => string): string {
  try {
    return decode();
  } catch (cause) {
    throw new InvalidInput('invalid_text', 'the body is not UTF-8', { cause });
  }
}

async function* chunksOf(request: IncomingMessage, limit: number): AsyncIterable<Buffer> {
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size > limit) throw refused(request, limit);
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof CoreError) throw cause;
    throw new Interrupted('client_gone', 'the client went away while it sent its body', { cause });
  }
}

/** A connection that is closed while its client still sends would take the answer with it. */
function refused(request: IncomingMessage, limit: number): TooLarge {
  let size = 0;
  const end = () => request.destroy();
  const total = setTimeout(end, drained.totalMs);
  const idle = setTimeout(end, drained.idleMs);
  request.on(
    'data',
    guarded('an HTTP connection', (chunk: Buffer) => {
      size += chunk.length;
      if (size > drained.most) end();
      else idle.refresh();
    }),
  );
  const done = () => {
    clearTimeout(total);
    clearTimeout(idle);
  };
  request.once('end', done);
  request.once('close', done);
  request.on('error', () => {});
  request.resume();
  return new TooLarge('body_too_large', `the body has more than ${limit} bytes, the limit`);
}

function checkEncoding({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return;
  throw new UnsupportedMediaType(
    'encoding_not_supported',
    `content-encoding is ${encoding}: must be identity`,
  );
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function checkContentType(header: string | undefined, hint?: string): void {
  if (header === 'application/json') return;
  const [type, ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') {
    throw new UnsupportedMediaType(
      'content_type_not_supported',
      `content-type is ${header === undefined ? 'missing' : JSON.stringify(header)}: must be application/json`,
      hint === undefined ? {} : { hint },
    );
  }
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8') return;
  throw new UnsupportedMediaType('content_type_not_supported', `charset is ${charset}: must be utf-8`);
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw refused(request, limit);
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(request, limit)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new InvalidInput('invalid_json', 'the body is not JSON: it is not UTF-8', { cause });
  }
}
