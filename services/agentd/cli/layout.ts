import { cut, seenWidth, wrapLine, wrapText } from '#kit/cli/fit-text.ts';
import { type Cell, type Column, tableLines } from '#kit/cli/table.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { textWidth } from '#kit/cli/text-width.ts';
import type { Terminal } from './terminal.ts';

/** The table of a view: indented, its titles dim. */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  terminal: Terminal,
  indent = 2,
): string[] {
  return tableLines(columns, rows, terminal, { indent, paint: terminal.paint.dim });
}

/** A column of text that is read whole. */
export const wrapping = { title: '', gives: { turn: 1, to: 16 }, excess: 'wrap' } as const satisfies Column;

/** Labels with their texts, which are wrapped under each other and never cut. */
export function labelled(
  rows: readonly (readonly [label: string, text: string])[],
  terminal: Terminal,
  indent = 2,
): string[] {
  const cells = rows.map(([text, value]): Cell[] => [{ text, paint: terminal.paint.dim }, value]);
  return table(['', wrapping], cells, terminal, indent);
}

/** Two texts at both ends of a line, at least two spaces apart; below each other where there is no room. */
export function apart(left: string, right: string, width: number): string[] {
  const room = Math.min(width, 100) - textWidth(left) - textWidth(right);
  if (room < 2 && width !== Number.POSITIVE_INFINITY)
    return [...wrapLine(left, width), ...(right === '' ? [] : [`  ${right}`])];
  return [`${left}${' '.repeat(Math.max(2, room))}${right}`.trimEnd()];
}

/** Parts on as few lines as fit, each part whole where a line can hold it. */
export function facts(parts: readonly string[], { width, symbols }: Terminal): string[] {
  const between = ` ${symbols.dot} `;
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)}${between}${part}`;
    if (lines.length === 0 || seenWidth(longer) <= width) lines.splice(-1, 1, longer);
    else lines.push(part);
  }
  return lines.flatMap((line) => wrapLine(line, width));
}

/** A line of somebody's text, no wider than the terminal. */
export function oneLine(text: string, { width, symbols }: Terminal): string {
  return cut(visibleLine(symbols.plain(text)), width, symbols.ellipsis);
}

/** Somebody's text behind bars; what goes on of an entry of a list stands below its text. */
export function quoted(text: string, { paint, width, symbols }: Terminal): string[] {
  return visibleLines(symbols.plain(text.trimEnd()))
    .split('\n')
    .flatMap((line) => wrapEntry(line, width - 4))
    .map((line) => `  ${paint.dim('|')} ${line}`.trimEnd());
}

function wrapEntry(line: string, width: number): string[] {
  const [mark = ''] = line.match(/^ *(?:[-*+]|[0-9]{1,9}[.)]) +(?=\S)/) ?? [];
  const indent = mark.length * 2 <= width ? mark.length : 0;
  const rest = wrapText(line.slice(indent), width - indent);
  return rest.map((part, index) => `${index === 0 ? line.slice(0, indent) : ' '.repeat(indent)}${part}`);
}
