import { cutStart } from '#kit/cli/fit-text.ts';
import { age } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { textWidth } from '#kit/cli/text-width.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { listRows } from '../input/list-input.ts';
import { riskStyle, riskWord, statusStyle, statusWord } from '../layout/marks.ts';
import { fitRow, onGround, type Row, type Span, type Style, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import type { State } from '../state/state.ts';

interface Column {
  readonly title: string;
  readonly width: number;
  readonly cell: (run: RunSummary) => Span;
}

/** Less of a title says nothing. */
const leastTitle = 6;

/** The list of runs: as many columns as there is room for, the title last. */
export function listRowsView(
  state: State,
  { glyphs, program }: { readonly glyphs: Glyphs; readonly program: string },
): readonly Row[] {
  const { runs, size } = state;
  if (runs.rows.length === 0) return emptyList(state, program);
  const columns = columnsFor(state, glyphs);
  const height = listRows(state);
  const shown = runs.rows.slice(runs.top, runs.top + height);
  const titleRoom = size.columns - columns.reduce((sum, { width }) => sum + width + 1, 1);
  const head: Row = [
    span(' '),
    ...columns.map(({ title, width }) => span(title.padEnd(width + 1), { color: 'gray' })),
    ...(titleRoom < leastTitle ? [] : [span('title', { color: 'gray' })]),
  ];
  return [
    head,
    ...shown.map((run) => {
      const chosen = run.run_id === runs.selected;
      const cells = columns.flatMap(({ width, cell }) => [
        ...fitRow([cell(run)], width, glyphs.ellipsis),
        span(' '),
      ]);
      const text = titleRoom < leastTitle ? '' : visibleLine(run.title ?? '');
      const title = fitRow([span(text)], Math.max(0, titleRoom), glyphs.ellipsis);
      const row: Row = [span(chosen ? glyphs.pointer : ' ', { color: 'cyan' }), ...cells, ...title];
      return chosen ? onGround(row, 'chosen') : row;
    }),
  ];
}

function columnsFor({ size, now, runs }: State, glyphs: Glyphs): readonly Column[] {
  const name = (run: RunSummary) => visibleLine(subjectOf(run));
  const maxIssue = size.columns >= 100 ? 28 : size.columns >= 60 ? 22 : Math.max(8, size.columns - 12);
  const longest = Math.max(8, ...runs.rows.map((run) => textWidth(name(run))));
  const issueWidth = size.columns >= 60 ? Math.min(maxIssue, longest) : maxIssue;
  const gray: Style = { color: 'gray' };
  const all: readonly (Column & { readonly from: number })[] = [
    {
      from: 0,
      title: 'issue',
      width: issueWidth,
      // Its end says which one it is.
      cell: (run) => span(cutStart(name(run), issueWidth, glyphs.ellipsis)),
    },
    {
      from: 60,
      title: 'status',
      width: 19,
      cell: ({ status }) => span(statusWord(status), statusStyle(status)),
    },
    {
      // Between, the status says that it waits, and the title needs the room.
      from: size.columns < 60 ? 50 : 68,
      title: 'waits',
      width: 7,
      cell: ({ waits_for }) =>
        waits_for === null ? span(glyphs.dot, gray) : span(waits_for, { color: 'yellow' }),
    },
    {
      from: 40,
      title: 'risk',
      width: 4,
      cell: ({ highest_risk }) => span(riskWord(highest_risk), riskStyle(highest_risk)),
    },
    {
      from: 78,
      title: 'changed',
      width: 11,
      cell: ({ updated_at }) => span(age(updated_at, new Date(now)), gray),
    },
  ];
  return all.filter(({ from }) => size.columns >= from);
}

function filterText({ filter, statuses }: State['runs']): string {
  const words = filter === '' ? [] : [`'${visibleLine(filter)}'`];
  return [
    ...words,
    ...(statuses.size === 0 ? [] : [`the status ${[...statuses].map(statusWord).join(' or ')}`]),
  ].join(' and ');
}

function emptyList({ runs, link }: State, program: string): readonly Row[] {
  if (runs.known.size > 0) {
    const what = filterText(runs);
    const none =
      runs.inbox === null
        ? `No run of ${runs.known.size} has ${what}`
        : `Nothing waits for you${what === '' ? '' : ` with ${what}`}`;
    return [
      [],
      [span(`  ${none}. `), span('escape', { color: 'cyan', bold: true }), span(' shows all again.')],
    ];
  }
  if (link.state !== 'live' || !runs.complete) return [[], [span('  The runs are being read.')]];
  return [
    [],
    [span('  No runs here yet.', { bold: true })],
    [],
    [
      span('  Press '),
      span('n', { color: 'cyan', bold: true }),
      span(' and name an issue, for example koajs/koa#12, or in another terminal:'),
    ],
    [
      span(`    ${program.replace(/ tui$/, '')} plan 'OWNER/REPO#N'`, {
        color: 'cyan',
      }),
    ],
    [],
    [
      span(
        `  Just looking? ${program.replace(/ tui$/, '')} quickstart makes a repository with an issue of its own.`,
      ),
    ],
  ];
}
