import { visibleLine } from '#kit/cli/terminal-text.ts';
import { type DiffRows, layDiff } from '../diff/diff-rows.ts';
import type { Highlighter } from '../diff/highlight.ts';
import type { Patch } from '../diff/parse-patch.ts';
import { span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { actionOf, appliedPatch, type OpenRun } from '../state/state.ts';
import { contextLines, issueLines, planLines } from './about-run.ts';
import type { Area } from './geometry.ts';
import { splitsFor } from './geometry.ts';
import { type Lay, makePane, type PaneContent } from './pane-content.ts';
import { payloadOf } from './payload.ts';
import { line, type TextLine } from './text-lines.ts';

/** Content of the pane for what is selected; made anew only when something that it shows has changed. */
export type Panes = (open: OpenRun, area: Area) => { readonly content: PaneContent; readonly tree: number };

const treeFrom = 110;

export function createPanes(glyphs: Glyphs, highlighter: Highlighter): Panes {
  let key: readonly unknown[] = [];
  let content: PaneContent | null = null;

  // A run is read again at each of its events; its patch stays where it is.
  let laid: { key: readonly unknown[]; rows: DiffRows } | null = null;
  const lay: Lay = (patch, layout) => {
    const { columns, split, folded } = layout;
    const key = [patch, columns, split, folded];
    if (laid === null || key.some((value, index) => value !== laid!.key[index])) {
      laid = { key, rows: layDiff(patch, layout) };
    }
    return laid.rows;
  };

  return (open, area) => {
    const { selected, detail, patch, patchTrouble, issue, explanation, output, sent, pane } = open;
    const action = actionOf(open, selected);
    const withTree =
      action?.kind === 'apply_patch' && pane.tree && open.zoomed && (patch?.files.length ?? 0) > 1;
    const tree = withTree && area.columns >= treeFrom ? Math.min(44, Math.floor(area.columns / 4)) : 0;
    const columns = area.columns - (tree === 0 ? 0 : tree + 1);
    const split = splitsFor(pane.split, columns);
    const { folded, search } = pane;
    const texts = [patch, patchTrouble, issue, explanation, output, sent];
    const shows = [selected, detail, ...texts, columns, split, folded, search];
    if (content === null || shows.some((value, index) => value !== key[index])) {
      key = shows;
      const { covered, after, shownPatch } = linesOf(open, glyphs);
      content = makePane(
        { covered, after, patch: shownPatch, columns, split, folded, search },
        glyphs,
        highlighter,
        lay,
      );
    }
    return { content, tree };
  };
}

function linesOf(
  open: OpenRun,
  glyphs: Glyphs,
): { covered: readonly TextLine[]; after: readonly TextLine[]; shownPatch: Patch | null } {
  const look = { glyphs };
  const action = actionOf(open, open.selected);
  if (action === null) {
    const lines =
      open.selected === 'issue'
        ? issueLines(open, look)
        : open.selected === 'plan'
          ? planLines(open, look)
          : contextLines(open, look);
    return { covered: lines, after: [], shownPatch: null };
  }
  const payload = payloadOf(open, action, look);
  if (!payload.patch) return { ...payload, shownPatch: null };
  if (open.patch !== null) return { ...payload, shownPatch: open.patch };
  // Until the patch is there the action has not been shown.
  return { covered: [...payload.covered, withoutPatch(open)], after: [], shownPatch: null };
}

function withoutPatch({ detail, patchTrouble }: OpenRun): TextLine {
  if (patchTrouble !== null) return unshown(patchTrouble);
  if (detail !== null && appliedPatch(detail) === null)
    return unshown('the plan and its action do not name one and the same patch');
  return line(span('The patch is being read', { color: 'yellow' }));
}

function unshown(why: string): TextLine {
  const text = `The patch cannot be shown, and so it cannot be approved here: ${visibleLine(why)}`;
  return line(span(text, { color: 'red' }));
}
