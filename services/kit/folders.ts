import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { makePrivateFolder } from './durable-file.ts';
import type { Environment } from './environment.ts';
import { Conflict, codeOf, Failed, InvalidInput, messageOf } from './errors.ts';

/** Where this installation keeps things. Nothing here exists before somebody writes; see `prepareFolder`. */
export interface Folders {
  readonly state: string;
  readonly config: string;
  /** Tokens of forges and models, one file each. */
  readonly secrets: string;
  /** Tokens of this installation's own HTTP interfaces. */
  readonly tokens: string;
  /** What is known of those tokens without knowing them; mostly the same folder. */
  readonly registry: string;
  /** What decided: a flag, a variable of the environment, or `default`. */
  readonly origin: { readonly state: string; readonly config: string };
}

export interface FolderFlags {
  readonly home?: string | undefined;
}

type FolderEnvironment = Pick<
  Environment,
  'CORE_HOME' | 'CORE_STATE_DIR' | 'CORE_CONFIG_DIR' | 'XDG_STATE_HOME' | 'XDG_CONFIG_HOME' | 'HOME'
> &
  Partial<Pick<Environment, 'CORE_SECRETS_DIR' | 'CORE_TOKENS_DIR' | 'CORE_REGISTRY_DIR'>>;

/** In a state or configuration folder, and in its services' parts that are there, while a restore works on it: what lies beside it may be half of something. */
export const unfinishedRestoreName = 'restore.unfinished';

/**
 * Flags win over the environment, the narrower name over the wider one.
 * @throws Conflict (`restore_unfinished`) while a restore works there, or since one was cut off
 */
export function resolveFolders(flags: FolderFlags, environment: FolderEnvironment): Folders {
  const folders = locateFolders(flags, environment);
  for (const path of [folders.state, folders.config]) requireRestored(path);
  return folders;
}

/** @throws Conflict (`restore_unfinished`) while a restore works on a folder, or since one was cut off */
export function requireRestored(path: string): void {
  if (!existsSync(join(path, unfinishedRestoreName))) return;
  throw new Conflict('restore_unfinished', `a restore into ${path} has not come to its end`, {
    facts: { path },
    hint: 'Wait for it; if it was cut off, run ./core restore again.',
  });
}

/** Where they are, whatever is in them. */
export function locateFolders(flags: FolderFlags, environment: FolderEnvironment): Folders {
  const state = pick(flags, environment, 'state');
  const config = pick(flags, environment, 'config');
  const elsewhere = (variable: 'CORE_SECRETS_DIR' | 'CORE_TOKENS_DIR' | 'CORE_REGISTRY_DIR') => {
    const given = config.isFlag ? undefined : environment[variable];
    return given ? folder(given, variable) : null;
  };
  const tokens = elsewhere('CORE_TOKENS_DIR') ?? join(config.path, 'tokens');
  return {
    state: state.path,
    config: config.path,
    secrets: elsewhere('CORE_SECRETS_DIR') ?? join(config.path, 'secrets'),
    tokens,
    registry: elsewhere('CORE_REGISTRY_DIR') ?? tokens,
    origin: { state: state.origin, config: config.origin },
  };
}

/** Path of a secret that configuration names: absolute, or a file of the secrets folder. */
export function secretPath({ secrets }: Pick<Folders, 'secrets'>, name: string): string {
  return isAbsolute(name) ? name : join(secrets, name);
}

interface Choice {
  readonly path: string;
  readonly origin: string;
  readonly isFlag: boolean;
}

function pick(
  { home: given }: FolderFlags,
  environment: FolderEnvironment,
  which: 'state' | 'config',
): Choice {
  if (given !== undefined)
    return { path: join(folder(given, '--home'), which), origin: '--home', isFlag: true };
  const isFlag = false;
  const isState = which === 'state';
  const variable = isState ? 'CORE_STATE_DIR' : 'CORE_CONFIG_DIR';
  const fromVariable = environment[variable];
  if (fromVariable) return { path: folder(fromVariable, variable), origin: variable, isFlag };
  if (environment.CORE_HOME) {
    return { path: join(folder(environment.CORE_HOME, 'CORE_HOME'), which), origin: 'CORE_HOME', isFlag };
  }

  const xdgVariable = isState ? 'XDG_STATE_HOME' : 'XDG_CONFIG_HOME';
  const xdg = environment[xdgVariable];
  // The XDG specification tells programs to ignore relative paths there.
  if (xdg && isAbsolute(xdg)) return { path: join(xdg, 'core'), origin: xdgVariable, isFlag };
  const home = environment.HOME || homedir();
  return { path: join(home, isState ? '.local/state' : '.config', 'core'), origin: 'default', isFlag };
}

function folder(path: string, name: string): string {
  if (path.trim() === '' || path.includes('\0')) {
    throw new InvalidInput(
      'folder_invalid',
      `${name} is ${JSON.stringify(path)}: must be the path of a folder`,
    );
  }
  return resolve(path);
}

/**
 * Makes a folder of this installation if it is missing and checks that this user may write there.
 * @throws Failed (`state_not_writable`, `config_not_writable`) naming the folder and what the system said
 */
export function prepareFolder(path: string, what: 'state' | 'config'): void {
  try {
    makePrivateFolder(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const code = codeOf(cause);
    const reason =
      code === 'EROFS'
        ? 'its file system is read-only'
        : code === 'EACCES' || code === 'EPERM'
          ? ['this user may not write there', foreignOwner(path)].filter((part) => part !== null).join(': ')
          : code === 'ENOTDIR' || code === 'EEXIST'
            ? 'a part of the path is not a folder'
            : messageOf(cause);
    throw new Failed(`${what}_not_writable`, `${what} folder ${path} cannot be used: ${reason}`, {
      cause,
      facts: { path, code },
      hint: `Make ${existsSync(path) ? path : dirname(path)} writable for this user, or choose another folder with --home DIR or CORE_HOME.`,
    });
  }
}

/** Whose a file or folder is, for people, where it is another user's, as a container leaves it; null where that is unknown. */
export function foreignOwner(path: string): string | null {
  const own = process.getuid?.();
  try {
    const owner = statSync(path).uid;
    if (own === undefined || owner === own) return null;
    return `it belongs to user ${owner}, and this process is ${own}`;
  } catch {
    return null;
  }
}
