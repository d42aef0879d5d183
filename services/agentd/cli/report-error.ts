import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { CoreError, exitCodes, messageOf } from '#kit/errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Tells a failure: one line, then why, then what to do, and no secret that somebody's words hold. Gives the exit code.
 * @param verbose shows the stack of what was not foreseen
 */
export async function reportError(
  error: unknown,
  terminal: Terminal,
  json: boolean,
  verbose: boolean,
): Promise<number> {
  const { Redactor } = await import('#kit/redaction.ts');
  const redactor = new Redactor();
  const exitCode = error instanceof CoreError ? error.exitCode : exitCodes.failed;
  if (json) terminal.err(`${JSON.stringify(redactor.redactDeep(errorJson(error)))}\n`);
  else terminal.err(redactor.redact(errorLines(error, terminal, verbose).join('\n').concat('\n')));
  return exitCode;
}

/** The shape of a failure for machines; `code` is stable. */
export function errorJson(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof CoreError)) {
    return { error: { code: 'internal', message: messageOf(error), exit_code: exitCodes.failed } };
  }
  const { code, message, exitCode, hint, errors, retryAfter } = error;
  return {
    error: {
      code,
      message,
      exit_code: exitCode,
      ...(hint === undefined ? {} : { hint }),
      ...(errors.length === 0 ? {} : { errors }),
      ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    },
  };
}

function errorLines(error: unknown, terminal: Terminal, verbose: boolean): string[] {
  const { paintErr } = terminal;
  const [first = '', ...rest] = visibleLines(messageOf(error)).trimEnd().split('\n');
  const label = error instanceof CoreError && error.exitCode === exitCodes.refused ? 'refused' : 'error';
  const code = error instanceof CoreError ? `  ${paintErr.dim(`[${error.code}]`)}` : '';
  const lines = [`${paintErr.red(paintErr.bold(label))}  ${first}${code}`];
  for (const line of rest) lines.push(`       ${line}`);
  if (!(error instanceof CoreError)) {
    lines.push('       This was not foreseen. Please report it, with the lines below.');
    const stack = error instanceof Error ? error.stack?.split('\n').slice(1, verbose ? undefined : 4) : [];
    for (const line of stack ?? []) lines.push(`       ${paintErr.dim(visibleLine(line.trim()))}`);
    return lines;
  }
  if (error.errors.length > 1) {
    for (const { pointer, detail } of error.errors)
      lines.push(`       ${visibleLine(pointer || '/')}  ${visibleLine(detail)}`);
  }
  const cause = verbose && error.cause !== undefined ? messageOf(error.cause) : '';
  if (cause !== '' && cause !== error.message)
    lines.push(`  why  ${visibleLines(cause).replaceAll('\n', '\n       ')}`);
  if (error.retryAfter !== undefined) lines.push(`  wait ${error.retryAfter} s before trying again`);
  if (error.hint !== undefined)
    lines.push(`   do  ${visibleLines(error.hint).replaceAll('\n', '\n       ')}`);
  return lines;
}
