import { createColors } from 'picocolors';
import { environment } from '../environment.ts';
import { type Display, displayOf } from './display.ts';
import { fitted } from './fit-text.ts';
import type { CommandContext } from './program.ts';

export type Paint = ReturnType<typeof createColors>;

/** Results on standard output: as JSON where that was asked for, else as these lines, wrapped where the display ends. */
export function printResult(
  { json, paints, display }: Pick<CommandContext, 'json' | 'paints' | 'display'>,
  result: unknown,
  lines: (paint: Paint, display: Display) => readonly string[],
): void {
  if (json) process.stdout.write(`${jsonText(result)}\n`);
  else
    printText(
      lines(createColors(paints), display)
        .map((line) => `${line}\n`)
        .join(''),
      display,
    );
}

/** Text for people on standard output, wrapped where the display ends. */
export function printText(
  text: string,
  display: Display,
  stdout: NodeJS.WritableStream = process.stdout,
): void {
  stdout.write(fitted(text, display));
}

/** A note or a warning on standard error, wrapped where that ends. */
export function printNote(text: string, { symbols }: Display): void {
  const { width } = displayOf(process.stderr, false, environment);
  process.stderr.write(fitted(text, { width, symbols }));
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
