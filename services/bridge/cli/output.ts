import { visibleLine } from '#kit/cli/terminal-text.ts';

/** Words of others, on one line of at most so many characters. */
export function short(text: string, most: number): string {
  const line = visibleLine(text);
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** A time in UTC, to the second. */
export function moment(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)}Z`;
}

/** When something is to come; what waits for its turn is late. */
export function due(time: string, word: string, now = Date.now()): string {
  return Date.parse(time) > now ? `${word} ${moment(time)}` : `due since ${moment(time)}`;
}
