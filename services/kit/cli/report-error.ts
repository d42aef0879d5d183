import { environment } from '../environment.ts';
import { CoreError, exitCodes, messageOf } from '../errors.ts';
import { symbolsOf } from './display.ts';

/**
 * Reports on standard error why a command failed, with `--json` as JSON, and no secret that somebody's words hold.
 * @param exitCode where it is not the error's own
 * @returns the exit code
 */
export async function reportError(
  error: unknown,
  args: readonly string[],
  exitCode?: number,
): Promise<number> {
  const { Redactor } = await import('../redaction/redactor.ts');
  const redactor = new Redactor();
  const symbols = symbolsOf(args, environment);
  const safe = (text: string) => visible(symbols.plain(redactor.redact(text)));
  const known = error instanceof CoreError;
  const code = exitCode ?? (known ? error.exitCode : exitCodes.failed);
  const message = messageOf(error);
  const hint = known ? error.hint : undefined;
  if (args.includes('--json')) {
    const facts = {
      code: known ? error.code : 'internal',
      message,
      exit_code: code,
      ...(known && error.errors.length > 0 ? { errors: error.errors } : {}),
      ...(hint === undefined ? {} : { hint }),
    };
    process.stderr.write(`${JSON.stringify({ error: redactor.redactDeep(facts) })}\n`);
    return code;
  }
  process.stderr.write(`error  ${safe(message)}${known ? `  [${error.code}]` : ''}\n`);
  if (!known && error instanceof Error) process.stderr.write(`       ${safe(error.stack ?? '')}\n`);
  if (known && error.errors.length > 1) {
    for (const { pointer, detail } of error.errors)
      process.stderr.write(`       ${safe(pointer || '/')}  ${safe(detail)}\n`);
  }
  if (hint !== undefined) process.stderr.write(`   do  ${safe(hint)}\n`);
  return code;
}

/** Words of others must not move the cursor. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (found) =>
    found === '\n' ? '\n       ' : `\\u{${found.codePointAt(0)!.toString(16)}}`,
  );
}
