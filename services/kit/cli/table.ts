import type { Display } from './display.ts';
import { cut, cutStart, wrapText } from './fit-text.ts';
import { visibleLine } from './terminal-text.ts';
import { textWidth } from './text-width.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
  /**
   * How it gives way where the table is wider than the display: the lowest turn first, as far as is needed. A column without it
   * never does; where none has one, the last does.
   */
  readonly gives?: Give | readonly Give[];
  /** What becomes of text that is wider than the column. Default `cut`. */
  readonly excess?: 'cut' | 'cutStart' | 'wrap';
}

interface Give {
  readonly turn: number;
  /** Down to so many cells; the brief form of each cell; or left out. */
  readonly to: number | 'brief' | 'gone';
}

/** The table makes the text of cells safe to print. */
export type Cell =
  | string
  | {
      readonly text: string;
      readonly paint?: ((text: string) => string) | undefined;
      /** A shorter form for where there is no room. */
      readonly brief?: string;
    };

export interface TableOptions {
  /** Columns in front of every line. Default 0. */
  readonly indent?: number;
  /** Of the titles. */
  readonly paint?: (text: string) => string;
}

export interface Table {
  /** The titles; none where no column has one. */
  readonly head: readonly string[];
  /** The lines of each row. */
  readonly body: readonly (readonly string[])[];
}

const gap = 2;
const least = 16;

/** Lines of a table, the titles first. */
export function tableLines(
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  display: Display,
  options: TableOptions = {},
): string[] {
  const { head, body } = tableOf(columns, rows, display, options);
  return [...head, ...body.flat()];
}

/** Lines cells up by display width, so that wide and combining characters keep the columns straight. No line is wider than the display. */
export function tableOf(
  given: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  display: Display,
  { indent = 0, paint }: TableOptions = {},
): Table {
  const plain = (text: string) => visibleLine(display.symbols.plain(text));
  const columns = withGiving(given.map((one) => (typeof one === 'string' ? { title: one } : one)));
  const cells = rows.map((row) =>
    row.map((cell) => {
      const { text, brief, ...rest } =
        typeof cell === 'string' ? { text: cell } : (cell as Exclude<Cell, string>);
      return { text: plain(text), brief: brief === undefined ? undefined : plain(brief), paint: rest.paint };
    }),
  );
  const fitted = columnsFor(columns, cells, display.width - indent);
  if (fitted === null) return stacked(columns, cells, display, indent);
  const { shown, widths } = fitted;
  const line = (row: readonly Shown[]) => rowLines(row, columns, widths, display, indent);
  const titles = columns.map(({ title }) => ({ text: title, paint: title === '' ? undefined : paint }));
  return { head: columns.every(({ title }) => title === '') ? [] : line(titles), body: shown.map(line) };
}

interface Shown {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

interface Fitting extends Shown {
  readonly brief?: string | undefined;
}

function withGiving(columns: readonly Column[]): readonly Column[] {
  if (columns.length === 0 || columns.some(({ gives }) => gives !== undefined)) return columns;
  return columns.with(-1, { ...columns.at(-1)!, gives: { turn: 1, to: least } });
}

/** The width of each column, null for one that is left out; null where even so there is no room. */
function columnsFor(
  columns: readonly Column[],
  cells: readonly (readonly Fitting[])[],
  room: number,
): { shown: readonly (readonly Fitting[])[]; widths: readonly (number | null)[] } | null {
  let shown = cells;
  const widest = (index: number) =>
    Math.max(textWidth(columns[index]!.title), ...shown.map((row) => textWidth(row[index]?.text ?? '')));
  const natural = columns.map((_, index) => widest(index));
  const widths: (number | null)[] = [...natural];
  const excess = () => {
    const kept = widths.filter((width) => width !== null);
    return kept.reduce((sum, width) => sum + width, gap * Math.max(0, kept.length - 1)) - room;
  };
  const turns = columns
    .flatMap(({ gives }, index) => [gives ?? []].flat().map((give) => ({ index, ...give })))
    .sort((a, b) => a.turn - b.turn);
  for (const { index, to } of turns) {
    if (excess() <= 0) break;
    if (to === 'gone') widths[index] = null;
    else if (to === 'brief') {
      shown = shown.map((row) =>
        row.with(index, { ...row[index]!, text: row[index]!.brief ?? row[index]!.text }),
      );
      widths[index] = natural[index] = widest(index);
    } else widths[index] = Math.min(natural[index]!, Math.max(to, natural[index]! - excess()));
  }
  if (excess() > 0) return null;
  // What a later column freed goes back to those that were cut, the last first.
  for (const { index } of turns.toReversed())
    if (widths[index] != null) widths[index] = Math.min(natural[index]!, widths[index]! - excess());
  return { shown, widths };
}

/** Keeps a long word of the last column whole, such as the name of a branch: it begins further left if that is free. */
function rowLines(
  row: readonly Shown[],
  columns: readonly Column[],
  widths: readonly (number | null)[],
  { symbols, width: room }: Display,
  indent: number,
): string[] {
  const kept = widths.flatMap((width, index) => (width === null || index >= row.length ? [] : [index]));
  const last = kept.at(-1);
  const pieces = row.map(({ text }, index) => {
    const width = widths[index] ?? 0;
    const { excess = 'cut' } = columns[index]!;
    if (excess === 'wrap') return wrapText(text, width, index === last ? room - indent : width);
    return [(excess === 'cut' ? cut : cutStart)(text, width, symbols.ellipsis)];
  });
  const isLong = (text: string) => textWidth(text) > widths[last!]!;
  if (last !== undefined) {
    const others = Math.max(0, ...kept.slice(0, -1).map((index) => pieces[index]!.length));
    const long = pieces[last]!.findIndex(isLong);
    if (long >= 0 && long < others)
      pieces[last] = pieces[last]!.toSpliced(long, 0, ...Array<string>(others - long).fill(''));
  }
  const height = Math.max(1, ...kept.map((index) => pieces[index]!.length));
  return Array.from({ length: height }, (_, number) => {
    let line = ' '.repeat(indent);
    for (const index of kept) {
      const text = pieces[index]![number] ?? '';
      const painted = text === '' ? '' : (row[index]!.paint?.(text) ?? text);
      if (index === last && isLong(text)) return `${' '.repeat(room - textWidth(text))}${painted}`;
      const space = ' '.repeat(Math.max(0, widths[index]! - textWidth(text)));
      line += columns[index]!.right === true ? space + painted : painted + space;
      line += ' '.repeat(gap);
    }
    return line.trimEnd();
  });
}

/** One line for each cell, below each other, where no columns fit. */
function stacked(
  columns: readonly Column[],
  cells: readonly (readonly Fitting[])[],
  { width }: Display,
  indent: number,
): Table {
  const labels = Math.max(...columns.map(({ title }) => textWidth(title)));
  const start = indent + (labels === 0 ? 0 : labels + gap);
  const body = cells.map((row, number) => [
    ...(number === 0 ? [] : ['']),
    ...row.flatMap(({ text, paint }, index) => {
      if (text === '') return [];
      return wrapText(text, Math.max(least, width - start)).map((piece, line) => {
        const label = line === 0 ? columns[index]!.title : '';
        return `${' '.repeat(indent)}${label.padEnd(start - indent)}${paint?.(piece) ?? piece}`;
      });
    }),
  ]);
  return { head: [], body };
}
