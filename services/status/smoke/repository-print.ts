import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readKnownForges } from '#kit/config/known-forges.ts';
import { readSettings } from '#kit/config/settings.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { Environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { git } from '#kit/git/git.ts';

/** Every ref with commit and tree, HEAD, and in a checkout what differs from it, by a name for each. */
export type RepositoryPrint = ReadonlyMap<string, string>;

/** More are not compared, so that a check stays a check. */
const maxRepositories = 200;

/** The repositories on this machine that planning could reach: those of local forges, and configured checkouts. */
export function knownRepositories(folders: Folders, environment: Environment): string[] {
  const local = readKnownForges(folders).flatMap(({ root }) => (root === null ? [] : [root]));
  const roots = [smokeForge.root, ...local].map((root) =>
    isAbsolute(root) ? root : join(folders.state, root),
  );
  const { checkouts } = readSettings({ folders, environment }).agentd;
  const found = [...new Set(roots)].flatMap(repositoriesBelow);
  return [...new Set([...found, ...Object.values(checkouts).filter((path) => existsSync(path))])].slice(
    0,
    maxRepositories,
  );
}

/** `<root>/<owner>/<repo>/repository.git` */
function repositoriesBelow(root: string): string[] {
  return foldersIn(root)
    .flatMap(foldersIn)
    .map((folder) => join(folder, 'repository.git'))
    .filter((path) => existsSync(path));
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

export async function printRepository(path: string, signal: AbortSignal): Promise<RepositoryPrint> {
  const print = new Map<string, string>();
  const ask = async (...args: readonly string[]) =>
    (await git(['-C', path, '--no-optional-locks', ...args], { signal, accept: [1] })).stdout.toString(
      'utf8',
    );
  try {
    const refs = await ask('for-each-ref', '--format=%(refname) %(objectname) %(tree)');
    for (const line of refs.split('\n').filter((line) => line !== ''))
      print.set(line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1));
    print.set('HEAD', (await ask('symbolic-ref', '--quiet', 'HEAD')).trim());
    if (existsSync(join(path, '.git')))
      print.set('the working copy', await ask('status', '--porcelain=v2', '--untracked-files=no'));
  } catch (error) {
    print.set('cannot be read', messageOf(error));
  }
  return print;
}

/** What is not the same, one line for each. */
export function printDifferences(path: string, before: RepositoryPrint, after: RepositoryPrint): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => {
      if (!before.has(name)) return `${path}: ${name} is new`;
      return after.has(name) ? `${path}: ${name} has changed` : `${path}: ${name} is gone`;
    });
}
