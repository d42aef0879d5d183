import { isUtf8 } from 'node:buffer';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InvalidInput, TooLarge } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { readObject } from '#kit/git/objects.ts';
import { linkMode, readTree, submoduleMode, type TreeEntry, treeOf } from '#kit/git/tree.ts';
import { writeGitDir } from '../git/git-dir.ts';
import { applyPatchToTree, pathProblem } from '../git/patch.ts';
import { canonicalPath } from '../git/path-spelling.ts';
import { patchBetween, type TreeReader } from '../git/tree.ts';

export interface SearchHit {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

export type ScratchEdit =
  /** `old_text` must occur exactly once. */
  | { readonly kind: 'replace'; readonly path: string; readonly old_text: string; readonly new_text: string }
  | { readonly kind: 'create'; readonly path: string; readonly content: string }
  | { readonly kind: 'delete'; readonly path: string }
  /** A git patch, applied whole or not at all. */
  | { readonly kind: 'patch'; readonly patch: string | Uint8Array };

/** The planner's own copy of the repository at the base commit. Nothing outside it can be reached. */
export interface ScratchCopy extends TreeReader {
  search(text: string, options: { limit: number; path_prefix?: string }): Promise<SearchHit[]>;
  /**
   * @throws InvalidInput and changes nothing: `path_not_allowed`, `edit_does_not_apply`, `file_exists`, `file_not_found`; of a patch
   * `patch_not_allowed`, `patch_does_not_apply`
   */
  edit(edit: ScratchEdit): Promise<void>;
  /** The change so far: a git tree and the binary-safe patch from the base to it. */
  diff(): Promise<{ readonly tree: string; readonly patch: Uint8Array }>;
}

export const maxFileBytes = 16 * 1024 * 1024;

export interface ScratchCopyOptions {
  /** Bare repository that holds the base commit; it is read and never written. */
  readonly gitDir: string;
  readonly base_commit: string;
  /** Created empty: what an interrupted planning left there is deleted. */
  readonly folder: string;
}

export async function createScratchCopy(options: ScratchCopyOptions): Promise<GitScratchCopy> {
  const gitDir = join(options.folder, 'repository.git');
  await rm(options.folder, { recursive: true, force: true });
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  writeGitDir(gitDir, options.base_commit.length);
  await writeFile(join(gitDir, 'objects/info/alternates'), `${resolve(options.gitDir, 'objects')}\n`);
  const base = await treeOf(gitDir, options.base_commit);
  return new GitScratchCopy(gitDir, base, entryMap(await readTree(gitDir, base)));
}

type Entries = ReadonlyMap<string, TreeEntry>;

/** A scratch copy without a single working file: a hostile tree has no links to follow, no filters and no hooks to run. */
export class GitScratchCopy implements ScratchCopy {
  /**
   * The copy's own bare repository. It borrows the base's objects and keeps new ones to itself, so that a refused change leaves
   * no byte elsewhere. `copyTree` of git/objects.ts brings an accepted tree over.
   */
  readonly gitDir: string;
  readonly #base: string;
  #tree: string;
  #entries: Entries;
  /** The tree that `scratch-index` holds; null where it may hold anything. */
  #indexed: string | null = null;
  #diff: { readonly tree: string; readonly patch: Uint8Array } | null = null;

  constructor(gitDir: string, base: string, entries: Entries) {
    this.gitDir = gitDir;
    this.#base = base;
    this.#tree = base;
    this.#entries = entries;
  }

  async list(): Promise<string[]> {
    return [...this.#entries.values()]
      .filter(isRegular)
      .map(({ path }) => path)
      .sort();
  }

  async read(path: string): Promise<Uint8Array | null> {
    const entry = this.#entries.get(path);
    if (entry === undefined || !isRegular(entry)) return null;
    return readObject(this.gitDir, entry.id, (size) => {
      if (size <= maxFileBytes) return;
      throw new TooLarge(
        'file_too_large',
        `'${path}' has ${size} bytes; planning reads up to ${maxFileBytes}`,
      );
    });
  }

  /** As git writes it, for example `100644`; null if there is no such entry. */
  modeOf(path: string): string | null {
    return this.#entries.get(path)?.mode ?? null;
  }

  async search(text: string, options: { limit: number; path_prefix?: string }): Promise<SearchHit[]> {
    if (text === '' || /[\n\r\0]/.test(text)) {
      throw new InvalidInput('search_invalid', 'the text to search for must be one line that is not empty');
    }
    const hits: SearchHit[] = [];
    for (const path of await this.#filesWith(text)) {
      if (!path.startsWith(options.path_prefix ?? '')) continue;
      if (hits.length >= options.limit) break;
      const content = await this.read(path).catch(nullIfTooLarge);
      if (content !== null) hits.push(...hitsIn(path, content, text, options.limit - hits.length));
    }
    return hits;
  }

  /** Text files, in git's order. */
  async #filesWith(text: string): Promise<string[]> {
    const args = ['grep', '-l', '-z', '-F', '-I', '--no-textconv', '--full-name', '-e', text, this.#tree];
    const { stdout } = await git(args, { gitDir: this.gitDir, accept: [1] });
    const names = stdout.toString('utf8').split('\0');
    return names.filter((name) => name !== '').map((name) => name.slice(this.#tree.length + 1));
  }

  async edit(edit: ScratchEdit): Promise<void> {
    if (edit.kind === 'patch')
      return this.#become(await applyPatchToTree(this.gitDir, this.#tree, Buffer.from(edit.patch)));
    refusePath(edit.path, writeProblem(edit.path));
    const entry = this.#entries.get(edit.path);
    if (entry === undefined) refusePath(edit.path, parentProblem(edit.path, this.#entries));
    if (edit.kind === 'create') {
      if (entry !== undefined) throw new InvalidInput('file_exists', `'${edit.path}' exists already`);
      return this.#put({ path: edit.path, mode: '100644' }, Buffer.from(edit.content));
    }
    if (entry === undefined) throw new InvalidInput('file_not_found', `there is no file '${edit.path}'`);
    if (!isRegular(entry)) {
      refusePath(edit.path, `is ${whatIs(entry.mode)}`);
    }
    if (edit.kind === 'delete') return this.#update(`0 ${'0'.repeat(entry.id.length)}\t${entry.path}\0`);
    const content = Buffer.from((await this.read(edit.path))!);
    return this.#put(entry, replaced(edit.path, content, edit.old_text, edit.new_text));
  }

  async diff(): Promise<{ readonly tree: string; readonly patch: Uint8Array }> {
    const tree = this.#tree;
    if (this.#diff?.tree !== tree)
      this.#diff = { tree, patch: await patchBetween(this.gitDir, this.#base, tree) };
    return this.#diff;
  }

  /** Returns to a tree that this copy had before. */
  async restore(tree: string): Promise<void> {
    await this.#become(tree);
  }

  /**
   * Takes over a change that was made elsewhere, whole: files whose content this copy's repository holds already, by `writeBlobs`,
   * and names of deleted ones. Whoever calls has checked the paths.
   */
  async take(
    files: readonly Pick<TreeEntry, 'mode' | 'id' | 'path'>[],
    deleted: readonly Buffer[],
  ): Promise<void> {
    if (files.length + deleted.length === 0) return;
    const none = '0'.repeat(this.#base.length);
    await this.#update(
      Buffer.concat([
        // First, because a folder may stand by now where a file was.
        ...deleted.flatMap((name) => [Buffer.from(`0 ${none}\t`), name, Buffer.of(0)]),
        ...files.map(({ mode, id, path }) => Buffer.from(`${mode} ${id}\t${path}\0`)),
      ]),
    );
  }

  async #put(file: { path: string; mode: string }, content: Uint8Array): Promise<void> {
    if (content.length > maxFileBytes) {
      throw new TooLarge(
        'file_too_large',
        `'${file.path}' would have ${content.length} bytes; planning writes up to ${maxFileBytes}`,
      );
    }
    const id = await gitText(['hash-object', '-w', '--stdin'], { gitDir: this.gitDir, input: content });
    await this.#update(`${file.mode} ${id}\t${file.path}\0`);
  }

  /** @param record as `git update-index --index-info` takes it */
  async #update(record: string | Buffer): Promise<void> {
    const at = { gitDir: this.gitDir, env: { GIT_INDEX_FILE: join(this.gitDir, 'scratch-index') } };
    if (this.#indexed !== this.#tree) await git(['read-tree', this.#tree], at);
    this.#indexed = null;
    await git(['update-index', '-z', '--index-info'], { ...at, input: record });
    const tree = await gitText(['write-tree'], at);
    await this.#become(tree);
    this.#indexed = tree;
  }

  async #become(tree: string): Promise<void> {
    this.#entries = entryMap(await readTree(this.gitDir, tree));
    this.#tree = tree;
  }
}

function entryMap(entries: readonly TreeEntry[]): Entries {
  return new Map(entries.map((entry) => [entry.path, entry]));
}

function isRegular({ mode }: TreeEntry): boolean {
  return mode !== linkMode && mode !== submoduleMode;
}

function refusePath(path: string, problem: string | null): void {
  if (problem !== null) throw new InvalidInput('path_not_allowed', `'${path}' ${problem}`);
}

function replaced(path: string, content: Buffer, oldText: string, newText: string): Buffer {
  const old = Buffer.from(oldText);
  if (old.length === 0) throw new InvalidInput('edit_does_not_apply', 'old_text must not be empty');
  const at = onlyPlace(path, content, old);
  return Buffer.concat([content.subarray(0, at), Buffer.from(newText), content.subarray(at + old.length)]);
}

/** @throws InvalidInput (`edit_does_not_apply`) unless it occurs exactly once */
export function onlyPlace<T extends string | Buffer>(path: string, content: T, old: T): number {
  const at = content.indexOf(old as string);
  if (at < 0) {
    throw new InvalidInput('edit_does_not_apply', `old_text does not occur in '${path}'`);
  }
  if (content.indexOf(old as string, at + 1) >= 0) {
    throw new InvalidInput(
      'edit_does_not_apply',
      `old_text occurs more than once in '${path}'; it must hold enough lines to occur once`,
    );
  }
  return at;
}

function nullIfTooLarge(error: unknown): null {
  if (error instanceof TooLarge) return null;
  throw error;
}

const maxLineLength = 400;

/** Lines that hold the text, at most `limit`; a long line is cut around its first occurrence. */
export function hitsIn(path: string, content: Uint8Array, text: string, limit: number): SearchHit[] {
  const lines = Buffer.from(content).toString('utf8').split('\n');
  const hits = lines.flatMap((line, index) =>
    line.includes(text) ? [{ path, line: index + 1, text: excerpt(line, line.indexOf(text)) }] : [],
  );
  return hits.slice(0, limit);
}

function excerpt(line: string, at: number): string {
  if (line.length <= maxLineLength) return line.replace(/\r$/, '');
  const start = Math.max(0, at - 100);
  const end = start + maxLineLength;
  return `${start > 0 ? '…' : ''}${line.slice(start, end).toWellFormed()}${end < line.length ? '…' : ''}`;
}

export const maxPathBytes = 1024;

/** Why a tool must not write to a path, whatever the tree holds; null when it may. */
function writeProblem(path: string): string | null {
  if (Buffer.byteLength(path) > maxPathBytes) return `is longer than ${maxPathBytes} bytes`;
  if (!path.isWellFormed()) return 'is not valid Unicode';
  return pathProblem(path);
}

/**
 * Why a path cannot be written in a tree with these entries, or null: something above it is no folder, or, on a file system that
 * knows no case, it would meet another entry.
 */
function parentProblem(path: string, entries: ReadonlyMap<string, { mode: string }>): string | null {
  const folded = canonicalPath(path);
  const above = new Set(
    path.split('/').map((_, index, parts) => canonicalPath(parts.slice(0, index).join('/'))),
  );
  for (const [other, { mode }] of entries) {
    if (other === path) continue;
    const foldedOther = canonicalPath(other);
    if (above.has(foldedOther)) return `lies below '${other}', which is ${whatIs(mode)} and no folder`;
    if (foldedOther === folded) return `differs from '${other}' in nothing but case`;
    if (foldedOther.startsWith(`${folded}/`)) return `is a folder, it holds '${other}'`;
  }
  return null;
}

function whatIs(mode: string): string {
  if (mode === linkMode) return 'a symbolic link';
  return mode === submoduleMode ? 'a submodule' : 'a file';
}

/** The text of a file; null where it is missing, or is no UTF-8. */
export function utf8Text(content: Uint8Array | null): string | null {
  return content !== null && isUtf8(content) ? Buffer.from(content).toString('utf8') : null;
}

/** The same, and null too where it holds a NUL, so that git takes it for binary. */
export function plainTextOf(content: Uint8Array | null): string | null {
  return content?.includes(0) ? null : utf8Text(content);
}
