import { createColors } from 'picocolors';
import type { CommandContext } from './program.ts';

export type Paint = ReturnType<typeof createColors>;

/** Results on standard output: as JSON where that was asked for, else as these lines. */
export function printResult(
  { json, paints }: Pick<CommandContext, 'json' | 'paints'>,
  result: unknown,
  lines: (paint: Paint) => readonly string[],
): void {
  const text = json ? [jsonText(result)] : lines(createColors(paints));
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
