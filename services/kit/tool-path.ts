import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { environment } from './environment.ts';
import { InvalidInput } from './errors.ts';

/**
 * A folder of `tool_paths` in validation.json, absolute.
 * @param hidden folders that sandboxed code never sees: home, state, configuration
 * @throws InvalidInput (`tool_path_not_allowed`)
 */
export function allowedToolPath(configured: string, hidden: readonly string[]): string {
  const path = trimmedPath(
    configured.startsWith('~/') ? join(environment.HOME ?? '~', configured.slice(2)) : configured,
  );
  const refuse = (rule: string) =>
    new InvalidInput('tool_path_not_allowed', `tool_paths: '${configured}' ${rule}`, {
      hint: 'List the folder of the tools alone, for example ~/.cargo/bin or ~/.rustup/toolchains/stable-x86_64-unknown-linux-gnu.',
    });
  if (!isAbsolute(path)) throw refuse('must be absolute or start with ~/');
  if (!isFolder(path)) throw refuse('is not a folder on this machine');
  const real = realpathSync(path);
  for (const secret of hidden.map(trimmedPath)) {
    if (containsPath(path, secret) || containsPath(real, secret))
      throw refuse(`must not contain ${secret}, which sandboxed code never sees`);
  }
  return path;
}

/** Without a separator at its end. */
export function trimmedPath(path: string): string {
  const clean = normalize(path);
  return clean.length > 1 && clean.endsWith(sep) ? clean.slice(0, -1) : clean;
}

export function containsPath(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
