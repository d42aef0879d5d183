import type { Display } from '#kit/cli/display.ts';
import { tableLines } from '#kit/cli/table.ts';
import { short } from './output.ts';

const id =
  /^(?:repo|dir|file|symbol|section|issue|run|reasoning|task|action|artifact|agent|service|procedure|memory):\S/;

/**
 * Rows as lines, the names of the columns first. Ids and nodes are never cut: a part of one is of no use. Rows that are wider
 * than the display have a line for each column.
 * @param max characters of any other cell; Infinity cuts nothing
 */
export function tableOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
  max: number,
  display: Display,
  paint?: (text: string) => string,
): string[] {
  return tableLines(
    columns.map((title) => ({ title, gives: { turn: 1, to: Number.POSITIVE_INFINITY } })),
    rows.map((row) => columns.map((column) => cellOf(row[column], max))),
    display,
    paint === undefined ? {} : { paint },
  );
}

function cellOf(value: unknown, max: number): string {
  const node = nodeText(value);
  const holdsId = [value].flat().some((one) => typeof one === 'string' && id.test(one));
  const text = node ?? (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  return short(text, node !== null || holdsId ? Number.POSITIVE_INFINITY : max);
}

/** A whole node by its labels and id; all of it is in the JSON. */
function nodeText(value: unknown): string | null {
  const { labels, properties } = (value ?? {}) as { labels?: unknown; properties?: { id?: unknown } };
  if (!Array.isArray(labels) || typeof properties?.id !== 'string') return null;
  return `(:${labels.join(':')} ${properties.id})`;
}
