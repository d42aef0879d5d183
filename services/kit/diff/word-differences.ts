import { createRequire } from 'node:module';

type Change = { readonly value: string; readonly added: boolean; readonly removed: boolean };
const require = createRequire(import.meta.url);
/** Loaded when lines are compared first. */
let diffWords: ((before: string, after: string) => Change[]) | undefined;

/** Comparing words costs the product of their numbers; beyond this lines differ as a whole. */
const maxColumns = 1000;
/** Pairs of longer blocks are rarely the same line before and after. */
export const maxPairedLines = 200;

export interface WordPiece {
  readonly text: string;
  /** Whether it is on this side alone. */
  readonly differs: boolean;
}

/** A line before and after, in pieces; null where they have little in common, or are too long to compare. */
export function wordDifferences(
  before: string,
  after: string,
): { readonly before: readonly WordPiece[]; readonly after: readonly WordPiece[] } | null {
  if (before.length > maxColumns || after.length > maxColumns) return null;
  diffWords ??= (require('diff') as { diffWordsWithSpace: (before: string, after: string) => Change[] })
    .diffWordsWithSpace;
  const changes = diffWords(before, after);
  const common = changes.filter(({ added, removed }) => !added && !removed);
  const shared = common.reduce((sum, { value }) => sum + value.trim().length, 0);
  if (shared * 2 < Math.min(before.trim().length, after.trim().length)) return null;
  const side = (own: 'added' | 'removed', other: 'added' | 'removed') =>
    changes
      .filter((change) => !change[other])
      .map((change) => ({ text: change.value, differs: change[own] }));
  return { before: side('removed', 'added'), after: side('added', 'removed') };
}
