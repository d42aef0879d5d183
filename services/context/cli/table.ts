import { short } from './output.ts';

interface Cell {
  readonly text: string;
  /** True if it names something, so that a part of it is of no use. */
  readonly whole: boolean;
}

const gap = '  ';
/** Columns wider than this are cut, or not filled up where nothing is cut. */
const maxColumn = 60;
const minColumn = 16;
const id =
  /^(?:repo|dir|file|symbol|section|issue|run|reasoning|task|action|artifact|agent|service|procedure|memory):\S/;

/**
 * A table as lines, the head first. Ids are never cut: other columns are, the widest first, and what then still does not fit stands below
 * each other, a line for each column.
 * @param width of the terminal; Infinity cuts nothing
 */
export function tableOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
  width: number,
): string[] {
  const cells = rows.map((row) => columns.map((column) => cellOf(row[column])));
  const wanted = columns.map((column, nth) =>
    Math.max(column.length, ...cells.map((row) => row[nth]!.text.length)),
  );
  const minWidths = columns.map((column, nth) =>
    Math.max(column.length, ...cells.map((row) => (row[nth]!.whole ? row[nth]!.text.length : 0))),
  );
  const widths = wanted.map((want, nth) => Math.max(minWidths[nth]!, Math.min(want, maxColumn)));
  if (width === Number.POSITIVE_INFINITY)
    return [columns, ...cells.map((row) => row.map(({ text }) => text))].map((row) => line(row, widths));
  shrink(widths, minWidths, width);
  if (total(widths) > width) return cells.flatMap((row) => below(columns, row, width));
  return [columns.map((text): Cell => ({ text, whole: true })), ...cells].map((row) =>
    line(
      row.map(({ text, whole }, nth) => (whole ? text : short(text, widths[nth]!))),
      widths,
    ),
  );
}

function cellOf(value: unknown): Cell {
  if (typeof value === 'string') return { text: visible(value), whole: id.test(value) };
  const node = nodeText(value);
  if (node !== null) return { text: visible(node), whole: true };
  const text = visible(JSON.stringify(value) ?? '');
  return {
    text,
    whole: Array.isArray(value) && value.some((one) => typeof one === 'string' && id.test(one)),
  };
}

/** A whole node by its labels and id; all of it is in the JSON. */
function nodeText(value: unknown): string | null {
  const { labels, properties } = (value ?? {}) as { labels?: unknown; properties?: { id?: unknown } };
  if (!Array.isArray(labels) || typeof properties?.id !== 'string') return null;
  return `(:${labels.join(':')} ${properties.id})`;
}

function visible(text: string): string {
  return short(text, Number.POSITIVE_INFINITY);
}

/** Takes from the widest column that can give, until it fits or none can. */
function shrink(widths: number[], minWidths: readonly number[], width: number): void {
  while (total(widths) > width) {
    const spare = widths.map((is, nth) => (is > Math.max(minWidths[nth]!, minColumn) ? is : 0));
    const most = Math.max(...spare);
    if (most === 0) return;
    widths[spare.indexOf(most)]!--;
  }
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));
}

function line(texts: readonly string[], widths: readonly number[]): string {
  return texts
    .map((text, nth) => text.padEnd(widths[nth]!))
    .join(gap)
    .trimEnd();
}

function below(columns: readonly string[], row: readonly Cell[], width: number): string[] {
  const names = Math.max(...columns.map(({ length }) => length));
  const room = Math.max(minColumn, width - names - gap.length);
  return [
    ...row.map(
      ({ text, whole }, nth) => `${columns[nth]!.padEnd(names)}${gap}${whole ? text : short(text, room)}`,
    ),
    '',
  ];
}
