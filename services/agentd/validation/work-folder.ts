import { lstat, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeaseHolder } from '#kit/contracts/lease-holder.ts';
import { once } from '#kit/once.ts';
import { runProgram } from '#kit/run-program.ts';
import { makeSpreadFolder } from '#kit/spread-folder.ts';
import { isRunning, thisProcess } from '#kit/storage/process-identity.ts';
import type { ValidationPlan } from '../action.ts';

const ownerFile = 'owner.json';
const day = 24 * 60 * 60 * 1000;

/** A new folder below `parent` that says which process works in it. */
export async function makeWorkFolder(parent: string, prefix: string): Promise<string> {
  await makeSpreadFolder(parent);
  const folder = await mkdtemp(join(parent, prefix));
  await writeFile(join(folder, ownerFile), JSON.stringify(thisProcess()));
  return folder;
}

/** Removes the work folders of processes that are gone; where that is unknown, those that nobody touched for a day. */
export async function sweepWorkFolders(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(parent, name);
    const running = await ownerRuns(folder);
    if (running === false || (running === null && (await isOld(folder)))) await removeTree(folder);
  }
}

async function ownerRuns(folder: string): Promise<boolean | null> {
  try {
    return isRunning(JSON.parse(await readFile(join(folder, ownerFile), 'utf8')) as LeaseHolder);
  } catch {
    // A crash, or a command without a sandbox, may have left anything here.
    return null;
  }
}

async function isOld(path: string): Promise<boolean> {
  const facts = await lstat(path).catch(() => null);
  return facts !== null && facts.mtimeMs < Date.now() - day;
}

/**
 * Removes a folder that untrusted commands wrote: with read-only folders and paths longer than the system takes, which rm(1)
 * walks step by step. It follows no links. What cannot be removed stays for the next sweep.
 */
export async function removeTree(path: string): Promise<void> {
  if (await succeeds('rm', ['-rf', '--', path])) return;
  await succeeds('chmod', ['-R', 'u+rwX', '--', path]);
  await succeeds('rm', ['-rf', '--', path]);
}

function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  return runProgram(program, args).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  );
}

/** Removes entries of a folder that nobody has touched for a while. */
export async function sweep(
  folder: string,
  olderThanMs: number,
  matching: (name: string) => boolean,
): Promise<void> {
  const before = Date.now() - olderThanMs;
  for (const name of await readdir(folder).catch(() => [])) {
    if (!matching(name)) continue;
    const path = join(folder, name);
    const facts = await lstat(path).catch(() => null);
    if (facts && facts.mtimeMs < before) await removeTree(path);
  }
}

export interface TreeSource {
  readonly mirror_dir: string;
  readonly tree: string;
  readonly plan: Pick<ValidationPlan, 'submodules' | 'lfs'>;
}

/** Writes the files of a tree or commit, with the submodules and LFS objects of the plan, into a folder that does not exist yet, without anything of git's. */
export type ExportTree = (source: TreeSource, into: string) => Promise<void>;

/** The files of a tree for commands to work on, in a work folder of this process. */
export interface TreeCopy {
  /** The folder of the files, once all of them are there. */
  workspace(): Promise<string>;
  /** Removes it, however far it has come. */
  remove(): Promise<void>;
}

/** Begins to write the files. */
export function copyTree(
  source: TreeSource,
  parent: string,
  prefix: string,
  exportTree: ExportTree,
): TreeCopy {
  const folder = makeWorkFolder(parent, prefix);
  const workspace = folder.then(async (path) => {
    await exportTree(source, join(path, 'workspace'));
    return join(path, 'workspace');
  });
  const ended = workspace.catch(() => undefined);
  return {
    workspace: () => workspace,
    remove: once(() => ended.then(() => folder).then(removeTree, () => undefined)),
  };
}
