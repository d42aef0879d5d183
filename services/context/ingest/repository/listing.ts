import { git } from '#kit/git/git.ts';
import { readObjects } from '#kit/git/objects.ts';
import { linkMode, splitAtNul, submoduleMode } from '#kit/git/tree.ts';
import { IgnoreRules } from './ignore-rules.ts';
import { pathText } from './path-text.ts';
import { noneSkipped, type Skipped } from './skipped.ts';

export interface ListedFile {
  readonly path: string;
  readonly blob: string;
  readonly size: number;
}

export interface Listing {
  readonly files: readonly ListedFile[];
  /** Of what is not in `files`. */
  readonly skipped: Skipped;
  /** Paths whose content the repository has lost. */
  readonly unreadable: readonly string[];
}

interface Entry extends ListedFile {
  readonly mode: string;
}

/** The files of a commit that are worth reading, told without reading them: the tree knows their sizes. */
export async function listFiles(gitDir: string, commit: string | null, maxBytes: number): Promise<Listing> {
  const entries = commit === null ? [] : await readEntries(gitDir, commit);
  const rules = await readIgnoreRules(gitDir, entries);
  const skipped = noneSkipped();
  const files: ListedFile[] = [];
  const unreadable: string[] = [];
  for (const { mode, path, blob, size } of entries) {
    if (mode === linkMode) skipped.link++;
    else if (mode === submoduleMode) skipped.submodule++;
    else if (rules.ignores(path)) skipped.ignored++;
    else if (Number.isNaN(size)) unreadable.push(path);
    else if (size > maxBytes) skipped.too_large++;
    else files.push({ path, blob, size });
  }
  skipped.unreadable = unreadable.length;
  return { files, skipped, unreadable };
}

/** An object that is missing has the size `BAD`, and an entry that is no blob `-`. */
async function readEntries(gitDir: string, commit: string): Promise<Entry[]> {
  const args = ['ls-tree', '-r', '-l', '-z', '--full-tree', '--end-of-options', commit];
  const { stdout } = await git(args, { gitDir });
  return splitAtNul(stdout).map((record) => {
    const tab = record.indexOf(9);
    const [mode, , blob, size] = record.toString('latin1', 0, tab).split(/ +/);
    return { mode: mode!, blob: blob!, size: Number(size), path: pathText(record.subarray(tab + 1)) };
  });
}

const largestIgnoreFile = 1024 * 1024;

async function readIgnoreRules(gitDir: string, entries: readonly Entry[]): Promise<IgnoreRules> {
  const rules = new IgnoreRules();
  const files = entries.filter(({ path, mode, size }) => {
    return /(^|\/)\.gitignore$/.test(path) && mode !== linkMode && size <= largestIgnoreFile;
  });
  let at = 0;
  const ids = files.map(({ blob }) => blob);
  for await (const { bytes } of readObjects(gitDir, ids)) {
    rules.add(files[at++]!.path.slice(0, -'.gitignore'.length), bytes.toString('utf8'));
  }
  return rules;
}
