import { git } from '#kit/git/git.ts';
import { IgnoreRules } from '#kit/git/ignore-rules.ts';
import { readObjects } from '#kit/git/objects.ts';
import { linkMode, splitAtNul, submoduleMode } from '#kit/git/tree.ts';
import { pathText } from './path-text.ts';

/** How many files were left out, and why. */
export interface Skipped {
  /** No text in any encoding that we know. */
  binary: number;
  /** Larger than `ingestion.max_file_bytes`. */
  too_large: number;
  /** Committed in spite of a `.gitignore`. */
  ignored: number;
  link: number;
  submodule: number;
  /** A pointer of Git LFS, whose content is elsewhere. */
  lfs: number;
  /** The repository has lost its content; what was known of it stays. */
  unreadable: number;
}

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

/** The files of a commit that are worth reading, chosen by the sizes and modes in the tree. */
export async function listFiles(gitDir: string, commit: string | null, maxBytes: number): Promise<Listing> {
  const entries = commit === null ? [] : await readEntries(gitDir, commit);
  const rules = await readIgnoreRules(gitDir, entries);
  const skipped = { binary: 0, too_large: 0, ignored: 0, link: 0, submodule: 0, lfs: 0, unreadable: 0 };
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

const maxIgnoreFileBytes = 1024 * 1024;

async function readIgnoreRules(gitDir: string, entries: readonly Entry[]): Promise<IgnoreRules> {
  const rules = new IgnoreRules();
  const files = entries.filter(({ path, mode, size }) => {
    return /(^|\/)\.gitignore$/.test(path) && mode !== linkMode && size <= maxIgnoreFileBytes;
  });
  let at = 0;
  const ids = files.map(({ blob }) => blob);
  for await (const { bytes } of readObjects(gitDir, ids)) {
    rules.add(files[at++]!.path.slice(0, -'.gitignore'.length), bytes.toString('utf8'));
  }
  return rules;
}

/** Reasons that only the content shows. */
export type SkippedByContent = 'binary' | 'lfs';
