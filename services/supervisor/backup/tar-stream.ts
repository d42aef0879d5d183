import { Header, Pax } from 'tar';

export type TarEntry =
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly size: number;
      readonly executable: boolean;
      /** Gives exactly `size` bytes. */
      readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    }
  | { readonly kind: 'folder'; readonly name: string };

const blockSize = 512;

/** The bytes of a tar archive (POSIX.1-2001), whose entries are asked for one after the other. */
export async function* tarOf(entries: AsyncIterable<TarEntry>, mtime: Date): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield headerOf(entry, mtime);
    if (entry.kind === 'folder') continue;
    yield* entry.content;
    const rest = entry.size % blockSize;
    if (rest > 0) yield Buffer.alloc(blockSize - rest);
  }
  yield Buffer.alloc(2 * blockSize);
}

function headerOf(entry: TarEntry, mtime: Date): Uint8Array {
  const isFile = entry.kind === 'file';
  const facts = {
    path: isFile ? entry.name : `${entry.name}/`,
    mode: isFile && !entry.executable ? 0o600 : 0o700,
    size: isFile ? entry.size : 0,
    mtime,
  };
  const header = new Header({ ...facts, type: isFile ? 'File' : 'Directory' });
  if (!header.encode()) return header.block!;
  return Buffer.concat([new Pax({ path: facts.path, size: facts.size }).encode(), header.block!]);
}
