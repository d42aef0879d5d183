import { jsonText } from '#kit/cli/json-text.ts';
import type { Terminal } from './terminal.ts';

/** Results for machines. */
export function writeJson(terminal: Terminal, value: unknown): void {
  terminal.out(`${jsonText(value)}\n`);
}
