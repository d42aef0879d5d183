import { constants, type Dirent, type Stats } from 'node:fs';
import { lstat, open, opendir, readFile, readlink } from 'node:fs/promises';
import { codeOf, Refused } from '#kit/errors.ts';
import { IgnoreRules } from '#kit/git/ignore-rules.ts';
import { readObject } from '#kit/git/objects.ts';
import { linkMode, submoduleMode, type TreeEntry } from '#kit/git/tree.ts';
import { blobHash, blobId } from '../../git/blobs.ts';
import { placeOf } from '../../git/export-tree.ts';
import { linkProblem, pathProblem } from '../../git/patch.ts';
import { maxFileBytes, maxPathBytes } from '../../planning/scratch-copy.ts';

/** What one change may hold; no reader follows more. */
export const changeBounds = { files: 20_000, bytes: 256 * 1024 * 1024 } as const;
/** How many entries are looked at, beside those that the base has; ignored ones count. */
const maxExtraEntries = 500_000;

export interface ReadOptions {
  readonly workspace: string;
  readonly base: readonly TreeEntry[];
  readonly mirror_dir: string;
  readonly mounts: readonly string[];
}

export interface ReadFile {
  readonly path: string;
  /** `100644`, `100755` or `120000`. */
  readonly mode: string;
  readonly id: string;
}

/**
 * How a folder that a hostile program wrote differs from the base: read by lstat alone, no link followed. The repository at its root
 * and the mounted folders are left out, and of what the base lacks that which its `.gitignore` files name.
 * @throws Refused (`agent_tree_refused`, `agent_tree_too_large`)
 */
export async function readChange(options: ReadOptions): Promise<{ files: ReadFile[]; deleted: Buffer[] }> {
  return new Reading(options, await ignoredBy(options)).read();
}

async function ignoredBy({ mirror_dir, base }: ReadOptions): Promise<IgnoreRules> {
  const rules = new IgnoreRules();
  for (const { path, mode, id } of base) {
    if (!/(^|\/)\.gitignore$/.test(path) || !mode.startsWith('100')) continue;
    rules.add(path.slice(0, -'.gitignore'.length), (await readObject(mirror_dir, id)).toString('utf8'));
  }
  return rules;
}

/** Of a changed file, or the target of a changed link. */
export async function contentOf(workspace: string, { path, mode }: ReadFile): Promise<Uint8Array> {
  const place = placeOf(workspace, Buffer.from(path));
  if (mode === linkMode) return readlink(place, { encoding: 'buffer' });
  const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await readFile(file);
  } finally {
    await file.close();
  }
}

class Reading {
  readonly #options: ReadOptions;
  readonly #ignored: IgnoreRules;
  /** By their names as recorded: some are no UTF-8. */
  readonly #base: ReadonlyMap<string, TreeEntry>;
  /** Folders that the base has. */
  readonly #baseFolders = new Set<string>();
  readonly #idLength: number;
  readonly #seen = new Set<string>();
  readonly #files: ReadFile[] = [];
  #entries = 0;
  #bytes = 0;

  constructor(options: ReadOptions, ignored: IgnoreRules) {
    this.#options = options;
    this.#ignored = ignored;
    this.#base = new Map(options.base.map((entry) => [key(entry.bytes), entry]));
    this.#idLength = options.base[0]?.id.length ?? 40;
    for (const name of this.#base.keys()) {
      for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1)) {
        this.#baseFolders.add(name.slice(0, end));
      }
    }
  }

  async read(): Promise<{ files: ReadFile[]; deleted: Buffer[] }> {
    const folders: Buffer[] = [Buffer.alloc(0)];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for await (const name of this.#namesIn(folder)) {
        if (await this.#look(name)) folders.push(name);
      }
    }
    return { files: this.#files, deleted: this.#deleted() };
  }

  async *#namesIn(folder: Buffer): AsyncGenerator<Buffer> {
    const { workspace } = this.#options;
    const place = folder.length === 0 ? Buffer.from(workspace) : placeOf(workspace, folder);
    // Its types know names that are text alone.
    const encoding = 'buffer' as BufferEncoding;
    const entries = await opendir(place, { encoding, bufferSize: 512 }).catch((error: unknown) => {
      throw refused(folder, `cannot be read (${codeOf(error)})`);
    });
    for await (const entry of entries as AsyncIterable<unknown>) {
      this.#entries += 1;
      if (this.#entries > this.#base.size * 2 + maxExtraEntries) {
        throw tooLarge(`more than ${maxExtraEntries} files and folders`);
      }
      const { name } = entry as Dirent<Buffer>;
      yield folder.length === 0 ? name : Buffer.concat([folder, Buffer.from('/'), name]);
    }
  }

  /** True for a folder to look into. */
  async #look(name: Buffer): Promise<boolean> {
    const { workspace, mounts } = this.#options;
    const path = name.toString('utf8');
    const known = this.#base.get(key(name));
    if (path === '.git' || mounts.includes(path)) return false;
    const facts = await lstat(placeOf(workspace, name));
    if (facts.isDirectory()) {
      if (known?.mode === submoduleMode) return this.#emptySubmodule(name);
      if (this.#baseFolders.has(key(name))) return true;
      if (this.#ignored.ignores(`${path}/`)) return false;
      refuse(name, nameProblem(name, path));
      return true;
    }
    if (known === undefined && this.#ignored.ignores(path)) return false;
    if (known?.mode === submoduleMode) refuse(name, 'stands in the place of a submodule');
    const mode = modeOf(facts);
    if (mode === null) throw refused(name, `is ${kindOf(facts)}`);
    this.#seen.add(key(name));
    const id = await this.#idOf(name, facts, known);
    if (id !== known?.id || mode !== known.mode) await this.#change(name, path, { mode, id, facts });
    return false;
  }

  async #emptySubmodule(name: Buffer): Promise<boolean> {
    for await (const below of this.#namesIn(name)) refuse(below, 'lies in a submodule');
    return false;
  }

  async #change(
    name: Buffer,
    path: string,
    { mode, id, facts }: { readonly mode: string; readonly id: string; readonly facts: Stats },
  ): Promise<void> {
    refuse(name, nameProblem(name, path));
    if (mode === linkMode) {
      const target = await contentOf(this.#options.workspace, { path, mode, id });
      refuse(name, linkProblem(path, Buffer.from(target).toString('utf8')));
    }
    this.#files.push({ path, mode, id });
    this.#bytes += facts.size;
    if (this.#files.length > changeBounds.files)
      throw tooLarge(`more than ${changeBounds.files} changed files`);
    if (this.#bytes > changeBounds.bytes)
      throw tooLarge(`more than ${changeBounds.bytes} bytes of changed files`);
  }

  async #idOf(name: Buffer, facts: Stats, known: TreeEntry | undefined): Promise<string> {
    const place = placeOf(this.#options.workspace, name);
    if (facts.isSymbolicLink()) return blobId(this.#idLength, await readlink(place, { encoding: 'buffer' }));
    // A large file is read when the base has it, to see whether it is the same.
    if (facts.size > maxFileBytes && known === undefined) throw fileTooLarge(name, facts.size);
    const hash = blobHash(this.#idLength, facts.size);
    const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      (error: unknown) => {
        throw refused(name, `cannot be read (${codeOf(error)})`);
      },
    );
    for await (const piece of file.createReadStream()) hash.update(piece as Buffer);
    const id = hash.digest('hex');
    if (facts.size > maxFileBytes && id !== known?.id) throw fileTooLarge(name, facts.size);
    return id;
  }

  #deleted(): Buffer[] {
    const gone = this.#options.base.filter(
      ({ bytes, mode, path }) =>
        mode !== submoduleMode &&
        !this.#seen.has(key(bytes)) &&
        !this.#options.mounts.some((mount) => path.startsWith(`${mount}/`)),
    );
    if (gone.length > changeBounds.files) throw tooLarge(`more than ${changeBounds.files} deleted files`);
    return gone.map(({ bytes }) => bytes);
  }
}

function key(name: Buffer): string {
  return name.toString('latin1');
}

function modeOf(facts: Stats): string | null {
  if (facts.isSymbolicLink()) return linkMode;
  if (!facts.isFile()) return null;
  return facts.mode & 0o100 ? '100755' : '100644';
}

function kindOf(facts: Stats): string {
  if (facts.isSocket()) return 'a socket';
  return facts.isFIFO() ? 'a named pipe' : 'a device';
}

function nameProblem(name: Buffer, path: string): string | null {
  if (!Buffer.from(path).equals(name)) return 'has a name that is no UTF-8';
  if (name.length > maxPathBytes) return `has a path longer than ${maxPathBytes} bytes`;
  return pathProblem(path);
}

function refuse(name: Buffer, problem: string | null): void {
  if (problem !== null) throw refused(name, problem);
}

function refused(name: Buffer, problem: string): Refused {
  const shown = name.toString('utf8').slice(0, maxPathBytes);
  return new Refused(
    'agent_tree_refused',
    `the agent left no change that can be taken over: '${shown}' ${problem}`,
    {
      facts: { path: shown },
    },
  );
}

function fileTooLarge(name: Buffer, size: number): Refused {
  const shown = name.toString('utf8').slice(0, maxPathBytes);
  return tooLarge(`'${shown}' with ${size} bytes, more than ${maxFileBytes} of one file`);
}

function tooLarge(what: string): Refused {
  return new Refused('agent_tree_too_large', `the change of the agent is too large: it has ${what}`);
}
