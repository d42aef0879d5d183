import type { IncomingMessage } from 'node:http';
import type * as t from 'io-ts';
import { unknownKeys } from '../config/unknown-keys.ts';
import { decode, parseJson } from '../decode.ts';
import { Interrupted, InvalidInput, TooLarge } from '../errors.ts';
import { UnsupportedMediaType } from './problem.ts';

/** Reads, parses and decodes a JSON body. `{}` stands for an absent one where `optional`. */
export async function readJsonBody(
  request: IncomingMessage,
  codec: t.Mixed,
  { limit, optional }: { readonly limit: number; readonly optional: boolean },
): Promise<unknown> {
  if (optional && !hasBody(request)) return decode(codec, {}, 'the body');
  checkContentType(request.headers['content-type']);
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new UnsupportedMediaType(
      'encoding_not_supported',
      `content-encoding is ${encoding}: must be identity`,
    );
  }
  const text = decodeUtf8(await readBytes(request, limit));
  if (optional && text.trim() === '') return decode(codec, {}, 'the body');
  const value = decode(codec, parseJson(text, 'the body'), 'the body');
  const unknown = unknownKeys(codec, JSON.parse(text));
  const [first] = unknown;
  if (first === undefined) return value;
  throw new InvalidInput('invalid_input', `the body: ${first.pointer} ${first.detail}`, { errors: unknown });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function checkContentType(header: string | undefined): void {
  const [type, ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') {
    throw new UnsupportedMediaType(
      'content_type_not_supported',
      `content-type is ${header === undefined ? 'missing' : JSON.stringify(header)}: must be application/json`,
    );
  }
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8') return;
  throw new UnsupportedMediaType('content_type_not_supported', `charset is ${charset}: must be utf-8`);
}

function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = () => new TooLarge('body_too_large', `the body has more than ${limit} bytes, the limit`);
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        chunks.length = 0;
        request.pause();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () =>
      reject(new Interrupted('client_gone', 'the client went away while it sent its body')),
    );
  });
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidInput('invalid_json', 'the body is not JSON: it is not UTF-8', { cause });
  }
}
