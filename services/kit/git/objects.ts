import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { guarded } from '../callbacks.ts';
import { Failed } from '../errors.ts';
import { git } from './git.ts';
import { isolatedEnvironment } from './git-environment.ts';
import { gitFailure } from './git-failure.ts';

export interface GitObject {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * Reads objects in the order of `ids`, one process for all, holding no more than one in memory.
 * @param checkSize may throw before an object of that many bytes is read
 */
export async function* readObjects(
  gitDir: string,
  ids: readonly string[],
  checkSize: (size: number) => void = () => {},
): AsyncGenerator<GitObject, void, undefined> {
  if (ids.length === 0) return;
  const args = ['cat-file', '--batch', '--buffer'];
  // By spawn, as run-program.ts says.
  const child = spawn('git', args, { cwd: gitDir, env: { ...isolatedEnvironment(), GIT_DIR: gitDir } });
  let stderr = '';
  child.stderr.on(
    'data',
    guarded('reading git objects', (chunk) => {
      stderr += chunk;
    }),
  );
  const closed = once(child, 'close');
  child.stdin.on('error', () => {});
  child.stdin.end(`${ids.join('\n')}\n`);
  try {
    const output = new ByteReader(child.stdout);
    for (const id of ids) {
      const header = await output.line();
      if (header === null) break;
      const [, type, size] = header.split(' ');
      if (type === 'missing') throw new Failed('object_missing', `${gitDir} has no object ${id}`);
      checkSize(Number(size));
      const bytes = await output.take(Number(size));
      await output.take(1);
      yield { id, bytes };
    }
    const [exitCode] = await closed;
    if (exitCode !== 0) throw gitFailure(args, exitCode, stderr, false);
  } finally {
    child.kill();
  }
}

/** The same for one object. */
export async function readObject(
  gitDir: string,
  id: string,
  checkSize?: (size: number) => void,
): Promise<Buffer> {
  for await (const { bytes } of readObjects(gitDir, [id], checkSize)) return bytes;
  throw new Failed('object_missing', `${gitDir} has no object ${id}`);
}

/**
 * Makes a tree and all it holds available in another repository. Whole or not at all, so that a tree that is there is
 * complete. @param known a commit that both repositories hold
 */
export async function copyTree(from: string, to: string, tree: string, known: string): Promise<void> {
  if (await hasObject(to, tree)) return;
  const packed = await git(['pack-objects', '-q', '--revs', '--stdout'], {
    gitDir: from,
    input: `${tree}\n^${known}\n`,
  });
  await git(['index-pack', '--stdin'], { gitDir: to, input: packed.stdout });
}

export async function hasObject(gitDir: string, id: string): Promise<boolean> {
  if (!/^[0-9a-f]{40,64}$/.test(id)) return false;
  return (await git(['cat-file', '-e', id], { gitDir, accept: [1, 128] })).exitCode === 0;
}

/** The objects that these names stand for, one process for all; null where there is none. No name may hold a line break. */
export async function lookUp(gitDir: string, names: readonly string[]): Promise<(string | null)[]> {
  const input = `${names.join('\n')}\n`;
  const { stdout } = await git(['cat-file', '--batch-check=%(objectname)'], { gitDir, input });
  const answers = stdout.toString('utf8').split('\n');
  return names.map((_, index) => /^[0-9a-f]{40,64}$/.exec(answers[index] ?? '')?.[0] ?? null);
}

class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async line(): Promise<string | null> {
    for (;;) {
      const end = this.#held.indexOf(10);
      if (end >= 0) {
        const line = this.#held.toString('utf8', 0, end);
        this.#held = this.#held.subarray(end + 1);
        return line;
      }
      const next = await this.#source.next();
      if (next.done) return null;
      this.#held = Buffer.concat([this.#held, next.value]);
    }
  }

  async take(size: number): Promise<Buffer> {
    const chunks: Buffer[] = [this.#held];
    let have = this.#held.length;
    while (have < size) {
      const next = await this.#source.next();
      if (next.done) throw new Failed('object_truncated', 'git ended in the middle of an object');
      chunks.push(next.value);
      have += next.value.length;
    }
    const all = chunks.length === 1 ? this.#held : Buffer.concat(chunks);
    this.#held = all.subarray(size);
    return all.subarray(0, size);
  }
}
