import { readObjects } from '#kit/git/objects.ts';
import { readTree, submoduleMode } from '#kit/git/tree.ts';

/**
 * What jj cannot see or a person would miss in its working copy; a repository with any of it is worked on with the git
 * adapter. Line ending attributes do not count: both adapters write the recorded bytes.
 */
export interface Specials {
  readonly lfs: boolean;
  readonly submodules: boolean;
  /** Attributes that name a filter or change the encoding. */
  readonly filters: boolean;
  /** SHA-256 objects, or file names that are not UTF-8. */
  readonly foreign: boolean;
}

export async function detectSpecials(gitDir: string, commit: string): Promise<Specials> {
  const entries = await readTree(gitDir, commit);
  const rules = entries.filter(
    ({ path, mode }) => /(^|\/)\.gitattributes$/.test(path) && mode.startsWith('100'),
  );
  let lfs = false;
  let filters = false;
  for await (const { bytes } of readObjects(
    gitDir,
    rules.map(({ id }) => id),
  )) {
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => !line.trimStart().startsWith('#'));
    lfs ||= lines.some((line) => /\sfilter=lfs(\s|$)/.test(line));
    filters ||= lines.some((line) => /\s(filter=|working-tree-encoding=|ident(\s|$))/.test(line));
  }
  return {
    lfs,
    submodules: entries.some(({ mode }) => mode === submoduleMode),
    filters,
    foreign: commit.length === 64 || entries.some(({ path, bytes }) => !Buffer.from(path).equals(bytes)),
  };
}

export function isSpecial(specials: Specials): boolean {
  return Object.values(specials).some(Boolean);
}
