import type { Display } from '#kit/cli/display.ts';
import { wrapText } from '#kit/cli/fit-text.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';

/** Words of others, on one line of at most so many characters. */
export function short(text: string, max: number): string {
  const line = visibleLine(text.replaceAll(/\s+/g, ' ').trim());
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

/** A time in UTC: the day alone where that is all it says; seconds where there are some. */
export function moment(time: string): string {
  const [day, clock] = new Date(time).toISOString().split('T') as [string, string];
  if (clock === '00:00:00.000Z') return day;
  const seconds = clock.slice(5, 8);
  return `${day} ${clock.slice(0, 5)}${seconds === ':00' ? '' : seconds}Z`;
}

/** Lines below a result, as far in as its first column is wide. */
export function indented(text: string, { width, symbols }: Display): string[] {
  const indent = ' '.repeat(6);
  return wrapText(symbols.plain(text), width - indent.length).map((line) => `${indent}${line}`);
}
