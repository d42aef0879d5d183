import { realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { environment } from '#kit/environment.ts';
import { InvalidInput } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';

/** Where every sandbox finds programs by default. */
export const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/gnu/store',
];

/**
 * Folders outside the system that sandboxed commands see read-only at the same path, and find programs in: what the configuration
 * lists, then the Node that Core runs on and the npm that the person uses.
 * @param hidden folders that stay out of sight: home, state, configuration
 * @throws InvalidInput (`tool_path_not_allowed`)
 */
export function toolPaths(configured: readonly string[], hidden: readonly string[]): string[] {
  const listed = configured.map((path) => allowed(path, hidden));
  return [...new Set([...listed, ...ownNode(hidden)])];
}

/**
 * The folders that were approved, each of them as it was listed then.
 * @throws InvalidInput (`tool_path_not_allowed`) where one is gone, or holds by now what stays out of sight
 */
export function approvedToolPaths(approved: readonly string[], hidden: readonly string[]): string[] {
  return approved.map((path) => allowed(path, hidden));
}

/** Entries of PATH for them, in the same order. */
export function searchPath(tools: readonly string[]): string {
  const own = tools.map((path) =>
    basename(path) !== 'bin' && isFolder(join(path, 'bin')) ? join(path, 'bin') : path,
  );
  const common = [
    '/usr/local/go/bin',
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ];
  return [...own, ...common.filter(isFolder)].join(delimiter);
}

function allowed(configured: string, hidden: readonly string[]): string {
  const path = trimmed(
    configured.startsWith('~/') ? join(environment.HOME ?? '~', configured.slice(2)) : configured,
  );
  const refuse = (rule: string) =>
    new InvalidInput('tool_path_not_allowed', `tool_paths: '${configured}' ${rule}`, {
      hint: 'List the folder of the tools alone, for example ~/.cargo/bin or ~/.rustup/toolchains/stable-x86_64-unknown-linux-gnu.',
    });
  if (!isAbsolute(path)) throw refuse('must be absolute or start with ~/');
  if (!isFolder(path)) throw refuse('is not a folder on this machine');
  const real = realpathSync(path);
  for (const secret of hidden.map(trimmed)) {
    if (contains(path, secret) || contains(real, secret))
      throw refuse(`must not contain ${secret}, which sandboxed code never sees`);
  }
  return path;
}

function ownNode(hidden: readonly string[]): string[] {
  const npm = findProgram('npm');
  const folders = [
    dirname(process.execPath),
    ...(npm ? [dirname(npm), join(dirname(npm), '../lib/node_modules')] : []),
  ];
  return folders
    .map(trimmed)
    .filter((folder) => isFolder(folder) && !systemFolders.some((system) => contains(system, folder)))
    .filter((folder) => !hidden.some((secret) => contains(folder, trimmed(secret))));
}

function trimmed(path: string): string {
  const clean = normalize(path);
  return clean.length > 1 && clean.endsWith(sep) ? clean.slice(0, -1) : clean;
}

function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
