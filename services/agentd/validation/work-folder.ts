import { lstat, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeaseHolder } from '#kit/contracts/lease-holder.ts';
import { makeSpreadFolder } from '#kit/spread-folder.ts';
import { isRunning, thisProcess } from '#kit/storage/process-identity.ts';
import { removeTree } from './remove-tree.ts';

const ownerFile = 'owner.json';
const day = 24 * 60 * 60 * 1000;

/** A new folder below `parent` that says which process works in it. */
export async function makeWorkFolder(parent: string, prefix: string): Promise<string> {
  makeSpreadFolder(parent);
  const folder = await mkdtemp(join(parent, prefix));
  await writeFile(join(folder, ownerFile), JSON.stringify(thisProcess()));
  return folder;
}

/** Removes the work folders of processes that are gone; where that cannot be told, those that nobody touched for a day. */
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
