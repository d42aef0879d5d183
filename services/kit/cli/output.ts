import { createColors } from 'picocolors';
import type { Display } from './display.ts';
import { wrapLine } from './fit-text.ts';
import type { CommandContext } from './program.ts';

export type Paint = ReturnType<typeof createColors>;

/** Results on standard output: as JSON where that was asked for, else as these lines, wrapped where the display ends. */
export function printResult(
  { json, paints, display }: Pick<CommandContext, 'json' | 'paints' | 'display'>,
  result: unknown,
  lines: (paint: Paint, display: Display) => readonly string[],
): void {
  const text = json
    ? [jsonText(result)]
    : lines(createColors(paints), display).flatMap((line) =>
        wrapLine(display.symbols.plain(line), display.width),
      );
  process.stdout.write(text.map((line) => `${line}\n`).join(''));
}

/**
 * A result for machines. Characters that a terminal would obey are written as JSON escapes, so that the text is safe to look at
 * and decodes to the same value.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
