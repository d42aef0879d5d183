import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import { fileOnScreen } from '../input/pane-input.ts';
import { listedItems, listTop } from '../input/run-input.ts';
import { treeRows } from '../layout/file-tree.ts';
import { type Area, geometryOf } from '../layout/geometry.ts';
import { riskStyle, riskWord, standing } from '../layout/marks.ts';
import type { PaneContent, Panes } from '../layout/pane-content.ts';
import { fitRow, onGround, type Row, rowWidth, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { Shown } from '../state/messages.ts';
import { actionOf, type OpenRun, type State } from '../state/state.ts';

interface Looks {
  readonly glyphs: Glyphs;
  readonly panes: Panes;
}

interface Body {
  readonly rows: readonly Row[];
  readonly shown: Shown | null;
}

/** Narrower lists show no titles: they would be cut after a word. */
const titleFrom = 60;

/** A run's page: its list, the pane for what is selected, or both. */
export function runBody(state: State, open: OpenRun, looks: Looks): Body {
  const { list, pane } = geometryOf(state);
  if (open.detail === null) return { rows: [[], [span('  The run is being read.')]], shown: null };
  const listed = list === null ? [] : listPart(open, list, looks.glyphs);
  if (pane === null) return { rows: listed, shown: null };
  const { rows: paned, shown } = panePart(open, pane, looks);
  if (list === null) return { rows: paned, shown };
  if (pane.left > 0) {
    const rows = paned.map(
      (row, index): Row => [
        ...fitRow(listed[index] ?? [], list.columns, looks.glyphs.ellipsis),
        span(looks.glyphs.bar, { color: 'gray' }),
        ...row,
      ],
    );
    return { rows, shown };
  }
  const above = Array.from({ length: list.rows }, (_, index) => listed[index] ?? []);
  return { rows: [...above, ruler(open, pane, looks), ...paned], shown };
}

function listPart(open: OpenRun, area: Area, glyphs: Glyphs): readonly Row[] {
  const items = listedItems(open);
  const top = listTop(open, area.rows);
  return items.slice(top, top + area.rows).map((key, index) => {
    if (key === null) {
      const next = actionOf(open, items[top + index + 1] ?? '');
      return [span(`  ${next?.gate ?? ''}`, { color: 'gray', bold: true })];
    }
    const row = fitRow(itemRow(open, key, area.columns, glyphs), area.columns, glyphs.ellipsis);
    return key === open.selected ? onGround(row, 'chosen') : row;
  });
}

function itemRow(open: OpenRun, key: string, columns: number, glyphs: Glyphs): Row {
  const pointer = span(key === open.selected ? glyphs.pointer : ' ', { color: 'cyan' });
  const action = actionOf(open, key);
  if (action === null) return [pointer, span(`   ${key}`)];
  const { ordinal, kind, risk, risk_score, title } = action;
  const [rejected] = action.rejected_before ?? [];
  const said = columns < titleFrom ? '' : agreement(action);
  const about = title === kind ? '' : visibleLine(glyphs.plain(title));
  const where = standing(action, open, glyphs);
  return [
    pointer,
    span(`${String(ordinal).padStart(2)} ${kind.padEnd(18)}`),
    span(riskWord(risk).padEnd(5), riskStyle(risk)),
    span(String(risk_score).padStart(3), { color: 'gray' }),
    span('  '),
    { ...where, text: where.text.padEnd(10) },
    ...(columns < titleFrom || rejected === undefined
      ? []
      : [span('rejected before  ', { color: 'yellow' })]),
    span(said === '' ? '' : `${said}  `, { color: 'cyan' }),
    span(columns < titleFrom ? '' : about, { color: 'gray' }),
  ];
}

/** How far rules are met, and what approved without a person. */
function agreement({ approval, approval_progress, decision }: ProposedAction): string {
  if (decision?.standing !== undefined) return visibleLine(`standing '${decision.standing.name}'`);
  return approval_progress === undefined || approval === 'rejected'
    ? ''
    : visibleLine(approval_progress.text);
}

function panePart(open: OpenRun, area: Area, looks: Looks): Body {
  const { content, tree } = looks.panes(open, area);
  const top = Math.max(0, Math.min(open.pane.top, content.count - 1));
  const numbers = Array.from({ length: area.rows }, (_, index) => top + index).filter(
    (row) => row < content.count,
  );
  const columns = area.columns - (tree === 0 ? 0 : tree + 1);
  const rows = numbers.map((row) => content.row(row));
  // A row that the screen cuts is not shown.
  const whole = numbers.filter((_, index) => rowWidth(rows[index]!) <= columns);
  const shown = shownOf(open, content, whole, columns);
  if (tree === 0) return { rows: filled(rows, area.rows), shown };
  const files = treeRows(open.patch!, fileOnScreen(open, content), area.rows, looks.glyphs);
  const withTree = Array.from(
    { length: area.rows },
    (_, index): Row => [
      ...fitRow(files[index] ?? [], tree, looks.glyphs.ellipsis),
      span(looks.glyphs.bar, { color: 'gray' }),
      ...fitRow(rows[index] ?? [], columns, looks.glyphs.ellipsis),
    ],
  );
  return { rows: withTree, shown };
}

function filled(rows: readonly Row[], count: number): readonly Row[] {
  return Array.from({ length: count }, (_, index) => rows[index] ?? []);
}

/** What this frame brings to the screen of the selected action; nothing before its patch is there. */
function shownOf(
  open: OpenRun,
  content: PaneContent,
  rows: readonly number[],
  columns: number,
): Shown | null {
  const action = actionOf(open, open.selected);
  if (action === null || (action.kind === 'apply_patch' && open.patch === null)) return null;
  return {
    action_id: action.action_id,
    digest: action.digest,
    spans: rows.map((row) => content.span(row)),
    payloadEnd: content.payloadEnd,
    layout: `${columns}${content.split ? ' split' : ''}`,
    patchBegin: action.kind === 'apply_patch' ? content.patchBegin : null,
  };
}

/** Between list and pane: where in its content the pane is. */
function ruler(open: OpenRun, area: Area, { glyphs, panes }: Looks): Row {
  const { content } = panes(open, area);
  const place = placeOf(open.pane.top, area.rows, content.count);
  const text = ` ${actionOf(open, open.selected)?.kind ?? open.selected}  ${place} `;
  const left = glyphs.horizontal.repeat(2);
  const rest = Math.max(0, area.columns - rowWidth([span(left + text)]));
  return [
    span(left, { color: 'gray' }),
    span(text, { color: 'gray', bold: true }),
    span(glyphs.horizontal.repeat(rest), { color: 'gray' }),
  ];
}

export function placeOf(top: number, rows: number, count: number): string {
  if (count <= rows) return 'all';
  return `${top + 1} to ${Math.min(count, top + rows)} of ${count}`;
}
