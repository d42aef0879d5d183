import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/**
 * A body as it is without its encoding, which some upstreams use though `identity` was asked for. null for an encoding that is
 * not known here.
 */
export function decodedBody(
  body: AsyncIterableIterator<Buffer>,
  encoding: string | undefined,
): AsyncIterator<Buffer> | null {
  const name = (encoding ?? 'identity').trim().toLowerCase();
  if (name === 'identity' || name === '') return body;
  if (!Object.hasOwn(decoders, name)) return null;
  const decoder = decoders[name as keyof typeof decoders]();
  // Failures of either side come out of the decoder, where they are read.
  pipeline(Readable.from(body, { objectMode: false }), decoder, () => {});
  return decoder[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
}
