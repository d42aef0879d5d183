import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ProposedAction } from '#kit/contracts/action.ts';
import { plannerText, roleText } from '#kit/contracts/planned-by.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { issueFacts, requestFacts } from '../layout/about-run.ts';
import { geometryOf } from '../layout/geometry.ts';
import { statusStyle, statusWord } from '../layout/marks.ts';
import type { PaneContent, Panes } from '../layout/pane-content.ts';
import { cutRow, fitRow, type Row, rowWidth, type Span, type Style, span, wrapRow } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { Cursor } from '../screen/writer.ts';
import { readiness } from '../state/decisions.ts';
import type { Shown } from '../state/messages.ts';
import { actionOf, type Link, needsApproval, type OpenRun, type State } from '../state/state.ts';
import { dialogRows, questionRow } from './dialog-view.ts';
import { type Keys, keyHints } from './help.ts';
import { listRowsView } from './list-view.ts';
import { placeOf, runBody } from './run-page.ts';

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
  const footerRows = rows - bodyTop - bodyRows;
  const noticed = noticeLines(state, columns, glyphs);
  if (footerRows >= 2) footer.push(withPlace(noticed.at(-1) ?? [], placeText(state, looks), columns));
  const hints = fitHints(keyHints(state), columns - 1);
  const tiny = footerRows < 2 && noticed.length > 0;
  if (footerRows >= 1) footer.push(question?.row ?? (tiny ? noticed.at(-1)! : hints));
  const top = bodyTop === 1 ? [titleRow(state, columns, glyphs)] : [];
  // What does not fit into one line covers the end of the body, of which nothing counts as shown then.
  const over = footerRows >= 1 ? noticed.slice(0, -1) : noticed;
  const filled = Array.from(
    { length: bodyRows },
    (_, index) => over[index - bodyRows + over.length] ?? body.rows[index] ?? [],
  );
  return { rows: [...top, ...filled, ...footer], shown: over.length === 0 ? body.shown : null, cursor };
}

/** At the right of the notice, where there is room for it. */
function withPlace(row: Row, place: string, columns: number): Row {
  const room = columns - rowWidth(row) - 1;
  if (place === '' || room < place.length + 2) return row;
  return [...row, span(place.padStart(room), { color: 'gray' })];
}

/** Where in its content the pane is, and whether all of it has been seen that an approval needs. */
function placeText(state: State, { panes }: Looks): string {
  const { open, dialog } = state;
  const { pane } = geometryOf(state);
  if (open?.detail == null || pane === null || (dialog !== null && dialog.kind !== 'question')) return '';
  const { content } = panes(open, pane);
  const place = `${placeOf(open.pane.top, pane.rows, content.count)}`;
  const action = actionOf(open, open.selected);
  if (action === null || !needsApproval(action)) return place;
  const seen = seenWord(open, action, content);
  return place === 'all' ? seen : `${place}, ${seen}`;
}

/** `all seen` only of what was on the screen to its end; an approval needs less where what led to the action follows. */
function seenWord(open: OpenRun, action: ProposedAction, content: PaneContent): string {
  if (readiness(open, action) !== 'ready') return 'more to read';
  const [, end] = content.span(content.count - 1);
  return open.seen[action.action_id]!.upTo >= end - 1e-9 ? 'all seen' : 'enough to approve';
}

function bodyOf(state: State, looks: Looks): { readonly rows: readonly Row[]; readonly shown: Shown | null } {
  const { link, open, dialog, runs } = state;
  const { columns } = state.size;
  if (dialog !== null && dialog.kind !== 'question')
    return { rows: dialogRows(state, dialog, looks), shown: null };
  if (link.state === 'trouble' && open?.detail == null && runs.known.size === 0) {
    return { rows: troubleRows(link, columns, looks), shown: null };
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

function listTitle({ runs, link }: State): Row {
  if (runs.known.size === 0 && !runs.complete && link.state !== 'live') return [span('Core', { bold: true })];
  const count =
    runs.rows.length === runs.known.size
      ? `${runs.rows.length} ${runs.rows.length === 1 ? 'run' : 'runs'}`
      : `${runs.rows.length} of ${runs.known.size} runs`;
  const by = runs.sorting === 'newest' ? '' : `, by ${runs.sorting}`;
  const status = runs.statuses.size === 0 ? '' : `, ${[...runs.statuses].map(statusWord).join(' or ')}`;
  const inbox = runs.inbox === null ? '' : ', waiting for you';
  const filter = runs.filter === '' ? '' : `, with '${visibleLine(runs.filter)}'`;
  return [
    span('Core', { bold: true }),
    span(`  ${count}${runs.complete ? '' : ' so far'}${by}${inbox}${status}${filter}`),
  ];
}

function runTitle({ open }: State, glyphs: Glyphs): Row {
  const { owner = '', repo = '', number = null, role, planner, dry_run } = requestFacts(open!);
  const { detail } = open!;
  const status = detail?.status;
  if (status === undefined) return [span('Core', { bold: true }), span('  the run is being read')];
  return [
    span(visibleLine(subjectOf({ owner, repo, number })), { bold: true }),
    span('  '),
    detail?.undo?.finished === false
      ? span('undoing', { color: 'cyan' })
      : span(statusWord(status), statusStyle(status)),
    span(`  ${visibleLine(issueFacts(open!).title ?? '')}`),
    span(
      visibleLine(
        `  ${glyphs.dot} ${roleText(role ?? '')} ${glyphs.dot} ${plannerText(planner ?? '', null)}${dry_run === true ? ', dry run' : ''} ${glyphs.dot} ${open!.run_id.slice(0, 17)}`,
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
      return { text: `${link.word}, trying again`, style: { color: 'red', bold: true } };
  }
}

/** As many keys as fit, the most important first; how to get help and back is always among them. */
function fitHints(hints: Keys, width: number): Row {
  const wide = ([key, what]: Keys[number]) => key.length + what.length + 3;
  const last = hints.filter(([key]) => key === '?' || key === 'esc' || key === 'q');
  let room = width + 2 - last.reduce((sum, hint) => sum + wide(hint), 0);
  const chosen: Keys[number][] = [];
  for (const hint of hints) {
    if (last.includes(hint)) continue;
    if (wide(hint) > room) break;
    chosen.push(hint);
    room -= wide(hint);
  }
  return [...chosen, ...last].flatMap(([key, what], index) => [
    span(`${index === 0 ? '' : '  '}${key}`, { color: 'cyan', bold: true }),
    span(` ${what}`, { color: 'gray' }),
  ]);
}

const maxNoticeLines = 6;
const tones = { plain: undefined, good: { color: 'green' }, bad: { color: 'red' } } as const;

/** What there is to say just now, in as many lines as it takes; none when there is nothing. */
export function noticeLines(state: State, columns: number, glyphs: Glyphs): readonly Row[] {
  const said = saying(state, glyphs);
  if (said === null) return [];
  const row = [span(visibleLine(said.text), said.style)];
  return wrapRow(row, Math.max(1, columns - 1), true).slice(0, maxNoticeLines);
}

function saying(state: State, glyphs: Glyphs): { text: string; style: Style | undefined } | null {
  const { notice, asking, open, now, link, runs } = state;
  if (notice !== null) return { text: notice.text, style: tones[notice.tone] };
  const working: Style = { color: 'cyan' };
  const spinner = glyphs.spinner[Math.floor(now / 1000) % glyphs.spinner.length]!;
  if (asking !== null) return { text: `${spinner} ${asking}`, style: working };
  if (link.state === 'trouble') {
    // Where nothing else is on the screen, the whole of it says so.
    if (open?.detail == null && runs.known.size === 0) return null;
    return { text: `${link.message}. ${link.hint}`, style: { color: 'red' } };
  }
  const progress = open?.progress;
  if (progress != null) {
    const seconds = Math.max(0, Math.floor((now - progress.since) / 1000));
    return { text: `${spinner} ${progress.step}  ${progress.message}  ${seconds} s`, style: working };
  }
  if (state.executingHere) {
    return {
      text: `${spinner} executing; this program does it itself, leaving would cut it off`,
      style: working,
    };
  }
  if (open?.review != null) {
    const text = `The gate ${open.review}: read on, then enter`;
    return { text, style: working };
  }
  return null;
}

/** The whole screen while there is nothing else to show. */
export function troubleRows(
  link: Link & { readonly state: 'trouble' },
  columns: number,
  { program }: { readonly program: string },
): readonly Row[] {
  const end = `This screen goes on by itself as soon as it answers. q ends ${visibleLine(program)}.`;
  return [
    [],
    ...indented(span(visibleLine(link.message), { bold: true }), columns),
    [],
    ...indented(span(visibleLine(link.hint)), columns),
    [],
    ...indented(span(end, { color: 'gray' }), columns),
  ];
}

function indented(text: Span, columns: number): readonly Row[] {
  const lines = wrapRow([text], Math.max(1, columns - 4), true);
  return lines.map((line) => [span('  '), ...line]);
}
