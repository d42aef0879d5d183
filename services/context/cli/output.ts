import { createColors } from 'picocolors';
import type { CommandContext } from '#kit/cli/program.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';

export type Paint = ReturnType<typeof createColors>;

/** Results on standard output: as JSON where that was asked for, else as these lines. */
export function tell(
  { json, paints }: Pick<CommandContext, 'json' | 'paints'>,
  result: unknown,
  lines: (paint: Paint) => readonly string[],
): void {
  if (json) process.stdout.write(`${jsonText(result)}\n`);
  else
    process.stdout.write(
      lines(createColors(paints))
        .map((line) => `${line}\n`)
        .join(''),
    );
}

/** Characters that a terminal would obey are JSON escapes. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Words of others, on one line of at most so many characters. */
export function short(text: string, most: number): string {
  const line = visibleLine(text.replaceAll(/\s+/g, ' ').trim());
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** A time in UTC: the day alone where that is all it says; seconds where there are some. */
export function moment(time: string): string {
  const [day, clock] = new Date(time).toISOString().split('T') as [string, string];
  if (clock === '00:00:00.000Z') return day;
  const seconds = clock.slice(5, 8);
  return `${day} ${clock.slice(0, 5)}${seconds === ':00' ? '' : seconds}Z`;
}
