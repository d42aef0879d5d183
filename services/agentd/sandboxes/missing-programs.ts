import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { credentialFiles, isInPackage } from '#kit/credential-files.ts';
import { environment } from '#kit/environment.ts';
import { findProgram } from '#kit/find-program.ts';
import { allowedToolPath, containsPath } from '#kit/tool-path.ts';
import type { SandboxTerms } from '../action.ts';
import { searchPath, systemFolders } from './tool-paths.ts';
import { managedInstallation } from './version-managers.ts';

/** A program that commands call and the sandbox does not find. */
export interface MissingProgram {
  readonly name: string;
  /** Where this machine has it; null where it has none. */
  readonly path: string | null;
  /** What `tool_paths` lacks for it; empty where no folder of it may be seen. */
  readonly folders: readonly string[];
}

/** Which programs of these commands the sandbox would not find. Judged by each command's first words: what a program starts itself is not known. */
export function missingPrograms(
  commands: readonly string[],
  { kind, tool_paths }: Pick<SandboxTerms, 'kind' | 'tool_paths'>,
  hidden: readonly string[],
  find = findProgram,
): MissingProgram[] {
  const names = new Set(commands.flatMap(programsOf));
  const seen = [...systemFolders, ...tool_paths].flatMap((folder) => [folder, realOf(folder) ?? folder]);
  const found = (name: string) =>
    searchPath(tool_paths)
      .split(delimiter)
      .some((folder) => {
        const real = realOf(join(folder, name));
        return real !== null && (kind === 'none' || seen.some((one) => containsPath(one, real)));
      });
  return [...names]
    .filter((name) => !found(name))
    .map((name) => {
      const path = find(name);
      return { name, path, folders: path === null ? [] : foldersOf(name, path, seen, hidden) };
    });
}

/** What is missing and the lines that mend it, for people. */
export function missingProgramsText(
  missing: readonly MissingProgram[],
  configured: readonly string[],
  file: string,
): string {
  const there = missing.filter(({ folders }) => folders.length > 0);
  const lines = missing
    .filter(({ folders }) => folders.length === 0)
    .map(({ name, path }) =>
      path === null
        ? `the validation calls ${name}, which is not installed on this machine`
        : `the validation calls ${name}, and the sandbox may not see ${dirname(path)}: install it in a folder of its own, or for the whole system`,
    );
  if (there.length > 0) {
    const places = there.map(({ name, path }) => `${name} (${path})`).join(', ');
    const paths = [...new Set([...configured, ...there.flatMap(({ folders }) => folders.map(fromHome))])];
    const which = there.length === 1 ? 'it is' : 'they are';
    lines.push(
      `the validation calls ${places}, and ${which} in a folder that the sandbox does not see. In ${file} put`,
      existsSync(file) ? `  ${toolPathsLine(paths)}` : `  { ${toolPathsLine(paths)} }`,
      'and plan again',
    );
  }
  return lines.join('\n');
}

function toolPathsLine(paths: readonly string[]): string {
  return `"tool_paths": [${paths.map((path) => JSON.stringify(path)).join(', ')}]`;
}

function fromHome(path: string): string {
  const home = environment.HOME ?? '';
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The folder that has it, and where it is a link, that of what it leads to; each only where the sandbox lacks it and may see it. */
function foldersOf(name: string, path: string, seen: readonly string[], hidden: readonly string[]): string[] {
  const managed = managedInstallation(name, path);
  if (managed === null) return [];
  const real = realOf(path);
  const wanted =
    managed !== undefined
      ? [managed]
      : [dirname(path), ...(real === null || real === path ? [] : [installationOf(real, hidden)])];
  const lacking = wanted.filter((folder) => !seen.some((one) => containsPath(one, folder)));
  return lacking.every((folder) => mayBeSeen(folder, hidden)) ? [...new Set(lacking)] : [];
}

/** The package that a program belongs to: a script of npm and a program of a virtual environment need what lies beside them. */
function installationOf(real: string, hidden: readonly string[]): string {
  const own = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(real)?.[0];
  if (own !== undefined) return own;
  const folder = dirname(real);
  const whole = dirname(folder);
  return basename(folder) === 'bin' && mayBeSeen(whole, hidden) && isOwnFolder(whole, hidden)
    ? whole
    : folder;
}

/** Not `~/.local`, `~/.cargo` or `~/go`, which hold more than one installation. */
function isOwnFolder(folder: string, hidden: readonly string[]): boolean {
  const isWhole = ['pyvenv.cfg', 'conda-meta'].some((name) => existsSync(join(folder, name)));
  return isWhole || !hidden.includes(dirname(folder));
}

/** Without what sandboxed code never sees, and without credentials but samples that the author of a package published. */
function mayBeSeen(folder: string, hidden: readonly string[]): boolean {
  try {
    return credentialFiles(allowedToolPath(folder, hidden)).every(({ path }) => isInPackage(path));
  } catch {
    return false;
  }
}

function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Built into every POSIX shell, or words of its grammar. */
const ofTheShell = new Set(
  (
    '. : [ alias bg break case cd command continue do done echo elif else esac eval exec exit export false fg fi for ' +
    'getopts hash if in jobs kill let local printf pwd read readonly return select set shift source test then time times ' +
    'trap true type ulimit umask unalias unset until wait while { } !'
  ).split(' '),
);

/** Operators and redirections first; a word may hold quotes. */
const shellWords =
  /&&|\|\||[;|\n()]|\d*[<>]+&?\s*[^\s;|&()]*|&|(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;|&()'"\\])+/g;

/** Names of the programs that a line for `sh -c` starts, none for those named by a path or a variable. */
export function programsOf(command: string): string[] {
  const names: string[] = [];
  let first = true;
  for (const [word] of command.matchAll(shellWords)) {
    if (/^(?:&&|\|\||[;|&\n()])$/.test(word)) first = true;
    else if (first && !/^[A-Za-z_]\w*=/.test(word) && !/^\d*[<>]/.test(word)) {
      // What follows a word of the grammar is a command again.
      first = /^(?:if|then|else|elif|do|while|until|time|exec|command|!|\{)$/.test(word);
      if (/^[\w.+-]+$/.test(word) && !ofTheShell.has(word)) names.push(word);
    }
  }
  return names;
}
