import { homedir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { environment } from '../environment.ts';
import { CoreError } from '../errors.ts';
import { locateFolders } from '../folders.ts';

/** What Core's own texts call `./core` and `config/NAME.json`, where this person is. */
export interface OwnNames {
  /** How they call the program. */
  readonly program: string;
  /** The folder of the configuration. */
  readonly config: string;
}

/** A text of Core with the names that are right here, to be typed and opened as they stand. */
export function asNamed(text: string, { program, config }: OwnNames): string {
  const found = text.replaceAll(/(?<![\w./~-])config\/(?=[a-z]+\.json\b)/g, () => `${config}/`);
  const launcher = launcherOf(program);
  if (!isCore(launcher)) return found;
  return found.replaceAll(/(?<![\w./-])\.\/core(?= [a-z])/g, () => launcher);
}

/** `./core` of `./core context`. */
export function launcherOf(program: string): string {
  return /^(?:'[^']*'|\S)+/.exec(program)?.[0] ?? program;
}

/** Whether a launcher is `./core`, and not the program of one service such as `core-context`. */
export function isCore(launcher: string): boolean {
  return /(^|\/)core'?$/.test(launcher);
}

/** The folder of the configuration for these arguments: from here where it lies below, and below `~` where it lies there. */
export function shownConfig(args: readonly string[]): string {
  const index = args.findIndex((arg) => arg === '--home' || arg.startsWith('--home='));
  const home = args[index]?.includes('=') ? args[index].slice('--home='.length) : args[index + 1];
  try {
    return shortPath(locateFolders({ home: index < 0 ? undefined : home }, environment).config);
  } catch (error) {
    if (error instanceof CoreError) return 'config';
    throw error;
  }
}

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  if (fromHere !== '' && !fromHere.startsWith('..')) return fromHere;
  const home = environment.HOME || homedir();
  return path.startsWith(home + sep) ? join('~', relative(home, path)) : path;
}
