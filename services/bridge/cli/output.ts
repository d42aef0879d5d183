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
  const text = json ? jsonText(result) : lines(createColors(paints)).join('\n');
  process.stdout.write(`${text}\n`);
}

/** Characters that a terminal would obey are JSON escapes. */
function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Words of others, on one line of at most so many characters. */
export function short(text: string, most: number): string {
  const line = visibleLine(text);
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** A time in UTC, to the second. */
export function moment(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)}Z`;
}
