import { createColors } from 'picocolors';
import { environment } from '../environment.ts';
import { CoreError, exitCodes, messageOf } from '../errors.ts';
import { type Display, displayOf } from './display.ts';
import { fitted, wrapCommand } from './fit-text.ts';
import { asNamed, launcherOf, type OwnNames, shownConfig } from './own-names.ts';
import { visibleLine, visibleLines } from './terminal-text.ts';

/** Where a command reports why it failed, and how. */
export interface ReportPlace extends OwnNames {
  readonly json: boolean;
  /** With causes, and the whole stack of an unexpected error. */
  readonly verbose: boolean;
  readonly paint: ReturnType<typeof createColors>;
  readonly display: Display;
  write(text: string): void;
}

/** Standard error, for a program that has not read its options yet, or could not. */
export function reportPlace(program: string, args: readonly string[]): ReportPlace {
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
  const paints =
    process.stderr.isTTY === true && !flags.includes('--no-color') && (environment.NO_COLOR ?? '') === '';
  return {
    program,
    config: shownConfig(flags),
    json: flags.includes('--json'),
    verbose: flags.includes('--verbose'),
    paint: createColors(paints && environment.TERM !== 'dumb'),
    display: displayOf(process.stderr, flags.includes('--ascii'), environment),
    write: (text) => void process.stderr.write(text),
  };
}

/**
 * Reports a failure without secrets: one line, then why, then what to do; as JSON where that was asked for.
 * @param exitCode where it is not the error's own
 * @returns the exit code
 */
export async function reportError(error: unknown, place: ReportPlace, exitCode?: number): Promise<number> {
  const { Redactor } = await import('../redaction/redactor.ts');
  const redactor = new Redactor();
  const code = exitCode ?? (error instanceof CoreError ? error.exitCode : exitCodes.failed);
  if (place.json) place.write(`${JSON.stringify(redactor.redactDeep(errorJson(error, code)))}\n`);
  else place.write(`${fitted(redactor.redact(errorLines(error, place).join('\n')), place.display)}\n`);
  return code;
}

/** The shape of a failure for machines; `code` is stable. */
function errorJson(error: unknown, exit_code: number): Readonly<Record<string, unknown>> {
  if (!(error instanceof CoreError))
    return { error: { code: 'internal', message: messageOf(error), exit_code } };
  const { code, message, hint, errors, retryAfter } = error;
  return {
    error: {
      code,
      message,
      exit_code,
      ...(hint === undefined ? {} : { hint }),
      ...(errors.length === 0 ? {} : { errors }),
      ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
    },
  };
}

const indent = 7;
const under = ' '.repeat(indent);

function errorLines(error: unknown, place: ReportPlace): string[] {
  const { program, paint, verbose, display } = place;
  const [first = '', ...rest] = visibleLines(asNamed(messageOf(error), place))
    .trimEnd()
    .split('\n');
  const label = labelOf(error);
  const code = error instanceof CoreError ? `  ${paint.dim(`[${error.code}]`)}` : '';
  const painted = label === 'stopped' ? paint.yellow(label) : paint.red(label);
  const said = first.startsWith(`${label} `) ? first.slice(label.length + 1) : first;
  const lines = [`${paint.bold(painted)}  ${said}${code}`];
  for (const line of rest) lines.push(`${under}${line}`);
  if (!(error instanceof CoreError)) {
    lines.push(`${under}This was not foreseen. Please report it, with the lines below.`);
    const stack = error instanceof Error ? error.stack?.split('\n').slice(1, verbose ? undefined : 4) : [];
    for (const line of stack ?? []) lines.push(`${under}${paint.dim(visibleLine(line.trim()))}`);
    return lines;
  }
  if (error.errors.length > 1) {
    for (const { pointer, detail } of error.errors)
      lines.push(`${under}${visibleLine(pointer || '/')}  ${visibleLine(detail)}`);
  }
  const cause = verbose && error.cause !== undefined ? messageOf(error.cause) : '';
  if (cause !== '' && cause !== error.message)
    lines.push(`  why  ${visibleLines(cause).replaceAll('\n', `\n${under}`)}`);
  if (error.retryAfter !== undefined) lines.push(`  wait ${error.retryAfter} s before trying again`);
  if (error.hint !== undefined) {
    const hint = visibleLines(asNamed(error.hint, place))
      .split('\n')
      .flatMap((line) => (isCommand(line, program) ? wrapCommand(line, display.width - indent) : [line]));
    lines.push(...hint.map((line, index) => `${index === 0 ? '   do  ' : under}${line}`));
  }
  return lines;
}

function labelOf(error: unknown): 'error' | 'refused' | 'stopped' {
  if (!(error instanceof CoreError)) return 'error';
  if (error.exitCode === exitCodes.interrupted) return 'stopped';
  return error.exitCode === exitCodes.refused ? 'refused' : 'error';
}

/** Whether a line is a command and nothing else, so that it is wrapped as one: no sentence that begins with one. */
function isCommand(line: string, program: string): boolean {
  const unquoted = line.replaceAll(/'[^']*'/g, '');
  return line.startsWith(`${launcherOf(program)} `) && !/\S {2,}\S|[.:;](?: |$)/.test(unquoted);
}
