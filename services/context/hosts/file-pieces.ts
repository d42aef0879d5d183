import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** Whoever changes a page writes a whole piece again. */
export const pieceBytes = 256 * 1024;

/** How many objects are written or read at once. */
const atOnce = 8;

export function digestOfPiece(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A file as pieces of equal length; only the last one may be shorter. */
export class FilePieces {
  readonly #file: FileHandle;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  static async with<T>(path: string, work: (pieces: FilePieces) => Promise<T>): Promise<T> {
    const file = await open(path, 'r');
    try {
      return await work(new FilePieces(file));
    } finally {
      await file.close();
    }
  }

  async bytes(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  /** Empty beyond the end. */
  async read(index: number): Promise<Buffer> {
    const { buffer, bytesRead } = await this.#file.read(Buffer.allocUnsafe(pieceBytes), {
      position: index * pieceBytes,
    });
    return buffer.subarray(0, bytesRead);
  }

  async digests(): Promise<string[]> {
    const digests: string[] = [];
    for (;;) {
      const content = await this.read(digests.length);
      if (content.length === 0) return digests;
      digests.push(digestOfPiece(content));
    }
  }
}

/** Some at a time. After the first that fails, none is begun. */
export async function forEachPiece<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items.values();
  let failed = false;
  const worker = async () => {
    for (const item of iterator) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
