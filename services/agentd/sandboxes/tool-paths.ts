import { basename, delimiter, dirname, join } from 'node:path';
import { findProgram } from '#kit/find-program.ts';
import { allowedToolPath, containsPath, isFolder, trimmedPath } from '#kit/tool-path.ts';

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
  const listed = configured.map((path) => allowedToolPath(path, hidden));
  return [...new Set([...listed, ...ownNode(hidden)])];
}

/**
 * The folders that were approved, each of them as it was listed then.
 * @throws InvalidInput (`tool_path_not_allowed`) where one is gone, or holds by now what stays out of sight
 */
export function approvedToolPaths(approved: readonly string[], hidden: readonly string[]): string[] {
  return approved.map((path) => allowedToolPath(path, hidden));
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

function ownNode(hidden: readonly string[]): string[] {
  const npm = findProgram('npm');
  const folders = [
    dirname(process.execPath),
    ...(npm ? [dirname(npm), join(dirname(npm), '../lib/node_modules')] : []),
  ];
  return folders
    .map(trimmedPath)
    .filter((folder) => isFolder(folder) && !systemFolders.some((system) => containsPath(system, folder)))
    .filter((folder) => !hidden.some((secret) => containsPath(folder, trimmedPath(secret))));
}
