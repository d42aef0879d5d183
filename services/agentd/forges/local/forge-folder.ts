import { closeSync, existsSync, linkSync, openSync, rmSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as t from 'io-ts';
import { decodeJson, Timestamp } from '#kit/decode.ts';
import { syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict, CoreError, codeOf, Failed, messageOf, TooLarge, Unavailable } from '#kit/errors.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { RepositoryRef } from '../../ports/forge.ts';
import { checkRepositoryRef, nameOf } from '../names.ts';
import { noRepository } from '../not-there.ts';

/** JSON may need six characters for one; a larger file cannot hold a text that anybody would be shown. */
const fileLimit = 64 * 1024 * 1024;

/** `repository.json` */
export const RepositoryRecord = t.strict({
  /** Moves with the folder, so that a repository is still known after a rename. */
  repository_id: t.string,
  owner: t.string,
  repo: t.string,
  default_branch: t.string,
  /** Globs of branches that Core must not push to, beside the default branch. */
  protected_branches: t.array(t.string),
  archived: t.boolean,
  created_at: Timestamp,
});
export type RepositoryRecord = t.TypeOf<typeof RepositoryRecord>;

export interface RepositoryFolder {
  readonly path: string;
  readonly bare: string;
  readonly record: RepositoryRecord;
}

/**
 * `<root>/<owner>/<repo>/`: `repository.git`, `repository.json`, `issues/`, `pulls/`, `comments/<n>/`, `heads/` and `numbers/`,
 * whose empty files reserve the numbers that issues and pull requests share. Records are written once and whole, so that
 * many processes can work on one folder without locks.
 */
export class ForgeFolder {
  readonly name: string;
  readonly root: string;

  constructor(name: string, root: string) {
    this.name = name;
    this.root = root;
  }

  pathOf(ref: RepositoryRef): string {
    checkRepositoryRef(ref);
    return join(this.root, ref.owner, ref.repo);
  }

  /**
   * @throws NotFound `repository_not_found`, Unavailable `forge_unavailable` where its git repository is gone, Conflict
   * `repository_ambiguous` where several folders hold its id, none of them under its name
   */
  async open(ref: RepositoryRef): Promise<RepositoryFolder> {
    const { path, record } = await this.#find(ref);
    const bare = join(path, 'repository.git');
    if (existsSync(join(bare, 'HEAD'))) return { path, bare, record };
    throw new Unavailable(
      'forge_unavailable',
      `forge '${this.name}' has ${nameOf(ref)}, but there is no git repository at ${bare}`,
      { hint: 'put it back, or make a bare repository there' },
    );
  }

  async #find(ref: RepositoryRef): Promise<Omit<RepositoryFolder, 'bare'>> {
    const { repository_id: id } = ref;
    const named = await this.#read(ref);
    if (id === undefined && named !== null) return named;
    if (id === undefined) throw noRepository(this.name, ref);
    if (named?.record.repository_id === id) return named;
    const moved: Omit<RepositoryFolder, 'bare'>[] = [];
    for (const owner of await this.#folders('.')) {
      for (const repo of await this.#folders(owner)) {
        const found = await this.#read({ owner, repo });
        if (found?.record.repository_id === id) moved.push(found);
      }
    }
    if (moved.length > 1) {
      throw new Conflict(
        'repository_ambiguous',
        `${moved.map(({ path }) => path).join(' and ')} hold the same repository_id ${id}`,
        { hint: 'Give the copy a repository_id of its own, in its repository.json.' },
      );
    }
    if (moved[0] === undefined) throw noRepository(this.name, ref);
    return moved[0];
  }

  async #folders(below: string): Promise<string[]> {
    const folder = join(this.root, below);
    const entries = existsSync(folder) ? await readdir(folder, { withFileTypes: true }) : [];
    // Names with a leading dot are of repositories that are being made.
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name);
  }

  /** The name of a folder that was moved is the name of the repository. */
  async #read(ref: RepositoryRef): Promise<Omit<RepositoryFolder, 'bare'> | null> {
    const path = this.pathOf(ref);
    const record = await readRecord(RepositoryRecord, join(path, 'repository.json'));
    if (record === null) return null;
    const same = nameOf(record).toLowerCase() === nameOf(ref).toLowerCase();
    const { owner, repo } = same ? record : ref;
    return { path, record: { ...record, owner, repo } };
  }
}

/** Numbers of the records in a folder, smallest first; none where there is no folder. */
export async function recordNumbers(folder: string): Promise<number[]> {
  const names = await entriesOf(folder);
  return names
    .filter((name) => /^[1-9][0-9]{0,9}\.json$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .sort((a, b) => a - b);
}

export async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw unreadable(folder, error);
  }
}

/** null where there is no such file. */
export async function readRecord<A>(codec: t.Decoder<unknown, A>, path: string): Promise<A | null> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > fileLimit) {
      throw new TooLarge('issue_too_large', `${path} has ${size} bytes; at most ${fileLimit} are read`);
    }
    text = readSmallFile(path, { maxBytes: fileLimit });
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error instanceof CoreError ? error : unreadable(path, error);
  }
  return decodeJson(codec, text, path, 'forge_reply_invalid');
}

export async function writeRecord(path: string, record: object): Promise<void> {
  await writing(path, () => writeFileDurably(path, text(record)));
}

/** Writes a record only if there is none; false when there is. */
export async function writeRecordOnce(path: string, record: object): Promise<boolean> {
  if (existsSync(path)) return false;
  return writing(path, () => {
    const draft = join(dirname(path), `.${basename(path)}.${process.pid}.${drafts++}.draft`);
    writeFileDurably(draft, text(record));
    try {
      // Unlike a rename, a link never replaces what is there.
      linkSync(draft, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    syncFolder(dirname(path));
    return true;
  });
}

let drafts = 0;

export async function removeRecord(path: string): Promise<void> {
  await writing(path, () => {
    rmSync(path);
    syncFolder(dirname(path));
  });
}

/** The next number of the repository, ours alone even when several processes ask at once. */
export async function reserveNumber(repository: string): Promise<number> {
  const folder = join(repository, 'numbers');
  const taken = (await entriesOf(folder)).map(Number).filter(Number.isInteger);
  let number = taken.reduce((highest, entry) => Math.max(highest, entry), 0) + 1;
  return writing(folder, () => {
    for (; ; number++) {
      try {
        closeSync(openSync(join(folder, String(number)), 'wx', 0o600));
        syncFolder(folder);
        return number;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
  });
}

export async function writing<A>(path: string, action: () => A): Promise<A> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return action();
  } catch (cause) {
    throw new Failed('forge_not_writable', `the local forge cannot write ${path}: ${messageOf(cause)}`, {
      cause,
      facts: { path, code: codeOf(cause) },
    });
  }
}

function unreadable(path: string, cause: unknown): Failed {
  return new Failed('forge_not_readable', `the local forge cannot read ${path}: ${messageOf(cause)}`, {
    cause,
    facts: { path, code: codeOf(cause) },
  });
}

function text(record: object): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}
