import { createHash } from 'node:crypto';
import { git } from '#kit/git/git.ts';

/** About what one process takes over at once. */
const batchBytes = 16 * 1024 * 1024;

/** The id that a repository with ids of this length gives a file's content. */
export function blobId(idLength: number, content: Uint8Array): string {
  return blobHash(idLength, content.length).update(content).digest('hex');
}

/** The same for content that comes in pieces. */
export function blobHash(idLength: number, size: number) {
  return createHash(idLength === 64 ? 'sha256' : 'sha1').update(`blob ${size}\0`);
}

/** Writes contents to a repository's objects, one process for many. They are asked for as they are written. */
export async function writeBlobs(gitDir: string, contents: AsyncIterable<Uint8Array>): Promise<void> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  async function flush(): Promise<void> {
    if (pieces.length === 0) return;
    await git(['fast-import', '--quiet'], { gitDir, input: Buffer.concat(pieces) });
    pieces = [];
    bytes = 0;
  }
  for await (const content of contents) {
    pieces.push(Buffer.from(`blob\ndata ${content.length}\n`), content, Buffer.from('\n'));
    bytes += content.length;
    if (bytes >= batchBytes) await flush();
  }
  await flush();
}
