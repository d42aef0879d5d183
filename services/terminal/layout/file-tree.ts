import { type TreeEntry, treeOf } from '#kit/diff/file-tree.ts';
import { shownPath } from '#kit/diff/line-text.ts';
import type { Patch } from '#kit/diff/patch.ts';
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

function visibleEntries(patch: Patch, current: number, rows: number): readonly TreeEntry[] {
  const entries = treeOf(patch.files);
  const at = Math.max(
    0,
    entries.findIndex(({ file }) => file === current),
  );
  const top = Math.max(0, Math.min(at - Math.floor(rows / 2), entries.length - rows));
  return entries.slice(top, top + rows);
}
