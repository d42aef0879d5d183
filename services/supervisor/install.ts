import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Display } from '#kit/cli/display.ts';
import { printText } from '#kit/cli/output.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { environment } from '#kit/environment.ts';
import { Conflict, codeOf, exitCodes, Failed } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import { withPersonsUmask } from '#kit/umask.ts';
import manifest from '../../package.json' with { type: 'json' };

const programs: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(manifest.bin).map(([name, path]) => [
    name,
    fileURLToPath(new URL(`../../${path}`, import.meta.url)),
  ]),
);

/** `core install`: links in a folder of the person's PATH; nothing else on the machine changes. */
export async function install(options: {
  readonly dir: string;
  readonly remove?: boolean;
  readonly json: boolean;
  readonly display: Display;
}): Promise<number> {
  const folder = resolve(options.dir);
  const removed = options.remove === true;
  const links = removed ? removeLinks(folder) : makeLinks(folder);
  if (options.json) process.stdout.write(`${JSON.stringify({ folder, links, on_path: isOnPath(folder) })}\n`);
  else printText(messageFor(folder, links, removed), options.display);
  return exitCodes.done;
}

function makeLinks(folder: string): string[] {
  for (const [name, target] of Object.entries(programs)) requireFree(join(folder, name), target);
  try {
    withPersonsUmask(() => mkdirSync(folder, { recursive: true }));
    for (const [name, target] of Object.entries(programs)) {
      const link = join(folder, name);
      if (linkTarget(link) === null) symlinkSync(target, link);
    }
  } catch (cause) {
    throw new Failed('install_failed', `the links cannot be made in ${folder}: ${codeOf(cause)}`, {
      cause,
      hint: 'Choose a folder that you may write to with --dir DIR.',
    });
  }
  return Object.keys(programs);
}

function removeLinks(folder: string): string[] {
  const ours = Object.entries(programs).filter(([name, target]) => linkTarget(join(folder, name)) === target);
  for (const [name] of ours) rmSync(join(folder, name));
  return ours.map(([name]) => name);
}

function requireFree(path: string, target: string): void {
  const found = linkTarget(path);
  if (found === null || found === target) return;
  throw new Conflict('install_occupied', `${path} exists and is not ours: ${found}`, {
    hint: 'Remove it yourself, or choose another folder with --dir DIR.',
  });
}

/** Where a link points, `a file` for anything else, null where there is nothing. */
function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : 'a file';
  } catch {
    return null;
  }
}

function messageFor(folder: string, names: readonly string[], removed: boolean): string {
  if (removed)
    return names.length === 0
      ? `No links of ours in ${folder}.\n`
      : `Removed ${names.join(', ')} from ${folder}.\n`;
  const note = isOnPath(folder)
    ? ''
    : `note  ${visibleLine(folder)} is not on your PATH yet; put this line into ~/.profile or your shell's own file, and open a new shell:\nexport PATH=${pathWord(folder)}\n`;
  return `${names.join(', ')} are in ${folder}.\n${note}`;
}

/** The value of PATH with the folder before it, for a POSIX shell. */
function pathWord(folder: string): string {
  const home = environment.HOME ?? homedir();
  const beneath = folder.startsWith(`${home}/`) ? folder.slice(home.length) : null;
  if (beneath !== null && shellWord(beneath) === beneath) return `"$HOME${beneath}:$PATH"`;
  return `${shellWord(folder)}:"$PATH"`;
}

function isOnPath(folder: string): boolean {
  return (environment.PATH ?? '').split(delimiter).includes(folder);
}
