import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Number of files that are read at once. */
const concurrency = 16;

/**
 * sha256 of everything below a folder: path, kind and executable bits of each entry, and its content or link target. Times and owners
 * do not count. Names are bytes: a package may hold some that are not UTF-8.
 * @param except paths below the folder that are left out
 */
export async function folderDigest(folder: string, except: readonly string[] = []): Promise<string> {
  const paths: Buffer[] = [];
  const folders: Buffer[] = [Buffer.from(folder)];
  for (let at = 0; at < folders.length; at++) {
    for (const name of await readdir(folders[at]!, { encoding: 'buffer' })) {
      const path = Buffer.concat([folders[at]!, slash, name]);
      if (except.some((one) => path.equals(Buffer.from(`${folder}/${one}`)))) continue;
      paths.push(path);
      if ((await lstat(path)).isDirectory()) folders.push(path);
    }
  }
  const lines: string[] = [];
  const next = paths.values();
  const work = async () => {
    for (const path of next) {
      const name = path.subarray(Buffer.byteLength(folder) + 1).toString('latin1');
      lines.push(JSON.stringify([name, ...(await contentOf(path))]));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

const slash = Buffer.from('/');

async function contentOf(path: Buffer): Promise<string[]> {
  const facts = await lstat(path);
  if (facts.isDirectory()) return ['folder'];
  if (facts.isSymbolicLink())
    return ['link', (await readlink(path, { encoding: 'buffer' })).toString('latin1')];
  if (!facts.isFile()) return ['other'];
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return ['file', (facts.mode & 0o111).toString(8), hash.digest('hex')];
}
