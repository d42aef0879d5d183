import { createColors } from 'picocolors';
import { jsonText } from './json-text.ts';
import type { CommandContext } from './program.ts';

export type Paint = ReturnType<typeof createColors>;

/** Results on standard output: as JSON where that was asked for, else as these lines. */
export function tell(
  { json, paints }: Pick<CommandContext, 'json' | 'paints'>,
  result: unknown,
  lines: (paint: Paint) => readonly string[],
): void {
  const text = json ? [jsonText(result)] : lines(createColors(paints));
  process.stdout.write(text.map((line) => `${line}\n`).join(''));
}
