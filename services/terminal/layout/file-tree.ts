import { shownPath } from '../diff/line-text.ts';
import type { Patch } from '../diff/parse-patch.ts';
import { onGround, type Row, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';

/** The files of a patch under their folders, around the one that is on the screen. */
export function treeRows(patch: Patch, current: number, rows: number, glyphs: Glyphs): readonly Row[] {
  return visibleEntries(patch, current, rows).map(({ file, name, depth }) => {
    const indent = '  '.repeat(depth);
    if (file === null) return [span(`${indent}${glyphs.unfolded} ${shownPath(name)}/`, { color: 'gray' })];
    const { added, removed } = patch.files[file]!;
    const row: Row = [
      span(`${indent}  ${shownPath(name)} `),
      span(`+${added} `, { color: 'green' }),
      span(`${glyphs.minus}${removed}`, { color: 'red' }),
    ];
    return file === current
      ? onGround([span(glyphs.pointer, { color: 'cyan' }), ...row], 'chosen')
      : [span(' '), ...row];
  });
}

/** The file that a row of the tree stands for, of a folder its first; null below the last. */
export function fileOnTreeRow(patch: Patch, current: number, rows: number, row: number): number | null {
  return visibleEntries(patch, current, rows)[row]?.first ?? null;
}

function visibleEntries(patch: Patch, current: number, rows: number): readonly Entry[] {
  const entries = entriesOf(patch);
  const at = Math.max(
    0,
    entries.findIndex(({ file }) => file === current),
  );
  const top = Math.max(0, Math.min(at - Math.floor(rows / 2), entries.length - rows));
  return entries.slice(top, top + rows);
}

interface Entry {
  /** Index of the file; null for a folder. */
  readonly file: number | null;
  /** The file, or the first in the folder. */
  readonly first: number;
  readonly name: string;
  readonly depth: number;
}

const maxDepth = 6;

/** In the order of the patch, so that the tree and the pane go the same way. */
function entriesOf({ files }: Patch): readonly Entry[] {
  const entries: Entry[] = [];
  let open: readonly string[] = [];
  for (const [file, { path }] of files.entries()) {
    const parts = path.split('/');
    const folders = parts.slice(0, -1);
    const shared = folders.findIndex((folder, index) => open[index] !== folder);
    const from = shared === -1 ? folders.length : shared;
    for (let depth = from; depth < folders.length; depth++)
      entries.push({ file: null, first: file, name: folders[depth]!, depth: Math.min(depth, maxDepth) });
    open = folders;
    entries.push({ file, first: file, name: parts.at(-1)!, depth: Math.min(folders.length, maxDepth) });
  }
  return entries;
}
