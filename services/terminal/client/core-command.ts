import { fileURLToPath } from 'node:url';
import * as t from 'io-ts';
import { decodeJson, optional } from '#kit/decode.ts';
import { Failed } from '#kit/errors.ts';

/** The command line of this installation. */
export const core = fileURLToPath(new URL('../../../core', import.meta.url));

const Said = t.strict({ error: t.strict({ message: t.string, hint: optional(t.string) }) });

/** What a command with `--json` said of its failure; null where the lines of its standard error have none. */
export function saidFailure(code: string, lines: readonly string[]): Failed | null {
  const line = lines.findLast((one) => one.startsWith('{"error"'));
  if (line === undefined) return null;
  const { message, hint } = decodeJson(Said, line, 'what the command said').error;
  return new Failed(code, message, hint === undefined ? {} : { hint });
}
