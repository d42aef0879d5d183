import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Shown } from '../model/messages.ts';
import type { State } from '../model/state.ts';
import { cutRow, fitRow, type Row, rowWidth, type Span, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { Cursor } from '../screen/writer.ts';
import { issueFacts, requestFacts } from './about-run.ts';
import { dialogRows, questionRow } from './dialog-view.ts';
import { geometryOf } from './geometry.ts';
import { keyHints } from './help.ts';
import { listRowsView } from './list-view.ts';
import { statusStyle, statusWord } from './marks.ts';
import type { Panes } from './panes.ts';
import { runBody } from './run-page.ts';
import { troubleRows } from './trouble.ts';

/** One screen, and what of an action's payload it shows. */
export interface Frame {
  readonly rows: readonly Row[];
  readonly shown: Shown | null;
  readonly cursor: Cursor | null;
}

export interface Looks {
  readonly glyphs: Glyphs;
  readonly panes: Panes;
  /** How people call the program, for the commands that are named. */
  readonly program: string;
}

export function frameOf(state: State, looks: Looks): Frame {
  const { glyphs } = looks;
  const geometry = geometryOf(state);
  const { columns, rows, bodyTop, bodyRows } = geometry;
  const body = bodyOf(state, looks);
  const footer: Row[] = [];
  let cursor: Cursor | null = null;
  const question = state.dialog?.kind === 'question' ? questionRow(state.dialog, columns, glyphs) : null;
  if (question !== null) cursor = { row: rows - 1, column: question.column };
  const noticed = noticeRow(state, glyphs);
  if (rows - bodyTop - bodyRows >= 2) footer.push(noticed);
  const hints = fitHints(keyHints(state), columns - 1);
  const tiny = rows - bodyTop - bodyRows < 2 && rowWidth(noticed) > 0;
  if (rows - bodyTop - bodyRows >= 1) footer.push(question?.row ?? (tiny ? noticed : hints));
  const top = bodyTop === 1 ? [titleRow(state, columns, glyphs)] : [];
  const filled = Array.from({ length: bodyRows }, (_, index) => body.rows[index] ?? []);
  return { rows: [...top, ...filled, ...footer], shown: body.shown, cursor };
}

function bodyOf(state: State, looks: Looks): { readonly rows: readonly Row[]; readonly shown: Shown | null } {
  const { link, open, dialog, runs } = state;
  if (dialog !== null && dialog.kind !== 'question')
    return { rows: dialogRows(state, dialog, looks), shown: null };
  if (link.state === 'trouble' && open?.detail == null && runs.known.size === 0) {
    return { rows: troubleRows(link, looks), shown: null };
  }
  if (open !== null) return runBody(state, open, looks);
  return { rows: listRowsView(state, looks), shown: null };
}

function titleRow(state: State, columns: number, glyphs: Glyphs): Row {
  const right = linkSpan(state);
  const room = columns - right.text.length - 1;
  const left = state.open === null ? listTitle(state) : runTitle(state, glyphs);
  return [...fitRow(cutRow(left, room, glyphs.ellipsis), room, glyphs.ellipsis), span(' '), right];
}

function listTitle({ runs }: State): Row {
  const count =
    runs.rows.length === runs.known.size
      ? `${runs.rows.length} ${runs.rows.length === 1 ? 'run' : 'runs'}`
      : `${runs.rows.length} of ${runs.known.size} runs`;
  const by = runs.sorting === 'newest' ? '' : `, by ${runs.sorting}`;
  const status = runs.status === null ? '' : `, ${statusWord(runs.status)}`;
  const filter = runs.filter === '' ? '' : `, with '${visibleLine(runs.filter)}'`;
  return [
    span('Core', { bold: true }),
    span(`  ${count}${runs.complete ? '' : ' so far'}${by}${status}${filter}`),
  ];
}

function runTitle({ open }: State, glyphs: Glyphs): Row {
  const { owner, repo, number, role, planner, dry_run } = requestFacts(open!);
  const status = open!.detail?.status;
  if (status === undefined) return [span('Core', { bold: true }), span('  the run is being read')];
  return [
    span(visibleLine(`${owner}/${repo}#${number}`), { bold: true }),
    span('  '),
    span(statusWord(status), statusStyle(status)),
    span(`  ${visibleLine(issueFacts(open!).title ?? '')}`),
    span(
      visibleLine(
        `  ${glyphs.dot} ${role} ${glyphs.dot} planner ${planner}${dry_run === true ? ', rehearsal' : ''}`,
      ),
      { color: 'gray' },
    ),
  ];
}

function linkSpan({ link }: State): Span {
  switch (link.state) {
    case 'connecting':
      return { text: 'connecting', style: { color: 'yellow' } };
    case 'live':
      return { text: 'live', style: { color: 'green' } };
    case 'trouble':
      return { text: 'no daemon, trying again', style: { color: 'red', bold: true } };
  }
}

function noticeRow(state: State, glyphs: Glyphs): Row {
  const { notice, asking, open, now, link } = state;
  if (notice !== null) {
    const style =
      notice.tone === 'good'
        ? ({ color: 'green' } as const)
        : notice.tone === 'bad'
          ? ({ color: 'red' } as const)
          : undefined;
    return [span(visibleLine(notice.text), style)];
  }
  const spinner = glyphs.spinner[Math.floor(now / 1000) % glyphs.spinner.length]!;
  if (asking !== null) return [span(`${spinner} ${asking}`, { color: 'cyan' })];
  if (link.state === 'trouble') return [span(visibleLine(`${link.message}. ${link.hint}`), { color: 'red' })];
  const progress = open?.progress;
  if (progress != null) {
    const seconds = Math.max(0, Math.floor((now - progress.since) / 1000));
    return [
      span(visibleLine(`${spinner} ${progress.step}  ${progress.message}  ${seconds} s`), { color: 'cyan' }),
    ];
  }
  if (open?.review != null) {
    return [
      span(`The gate ${open.review}: read this to its end, then enter shows the next`, { color: 'cyan' }),
    ];
  }
  return [];
}

/** As many keys as fit, the most important first. */
function fitHints(hints: readonly (readonly [key: string, what: string])[], width: number): Row {
  const row: Span[] = [];
  let used = 0;
  for (const [key, what] of hints) {
    const wide = key.length + what.length + 3;
    if (used + wide > width + 2) break;
    row.push(span(key, { color: 'cyan', bold: true }), span(` ${what}  `, { color: 'gray' }));
    used += wide;
  }
  return row;
}
