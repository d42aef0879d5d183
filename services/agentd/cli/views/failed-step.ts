import { join } from 'node:path';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { ValidationReport } from '#kit/contracts/stored-texts.ts';
import { counted } from '#kit/counted.ts';
import { decodeJson } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { codeOf } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { actionOfKind, type Run } from '../../runs/run.ts';
import { validationCopies } from '../../runs/views/views.ts';
import type { CommandContext } from '../command.ts';
import { quoted } from '../layout.ts';
import type { Terminal } from '../terminal.ts';

/** The step that made a validation fail, with its output. */
export interface FailedStep {
  readonly phase: 'prepare' | 'run';
  readonly run: string;
  /** As the step wrote it: not safe to print. */
  readonly log: string;
  /** Of the file with the whole log. */
  readonly path: string;
}

/** null where no validation failed, or where its log is gone. */
export async function failedStep(
  { services, suggestions }: CommandContext,
  run: Run,
): Promise<FailedStep | null> {
  const outcome = actionOfKind(run, 'run_validation')?.outcome;
  const report = outcome?.facts.report;
  if (outcome?.code !== 'validation_failed' || typeof report !== 'string') return null;
  const read = async (digest: string) =>
    Buffer.from(await services.agent.artifact(run.run_id, digest)).toString();
  try {
    const { steps } = decodeJson(ValidationReport, await read(report), `validation report ${report}`);
    const failed = steps.find(({ exit_code, ended_by }) => exit_code !== 0 || ended_by !== 'exit');
    if (failed === undefined) return null;
    const { state } = resolveFolders({ home: suggestions.home }, environment);
    const [name = ''] = [...validationCopies(run)].find(([, digest]) => digest === failed.log) ?? [];
    const path = join(state, 'runs', run.run_id, 'validation', name);
    return { phase: failed.phase, run: failed.run, log: await read(failed.log), path };
  } catch (error) {
    if (['artifact_not_found', 'artifact_damaged'].includes(codeOf(error))) return null;
    throw error;
  }
}

/** What people do about dependencies that cannot be fetched. */
const preparingPage = 'site/validation-and-sandbox.md#when-preparing-fails';

const firstLines = 5;
const errorLines = 5;
const lastLines = 20;
const maxColumns = 500;

/** The begin and the end of the log with the first lines between that look like an error, and where the rest is. */
export function failedStepLines({ phase, run, log, path }: FailedStep, terminal: Terminal): string[] {
  const lines = log.replaceAll('\r\n', '\n').trimEnd().split('\n');
  const kept = keptLines(lines);
  const shown = kept.length < lines.length ? `${kept.length} of ${lines.length} lines` : 'its whole output';
  const text = kept.flatMap((at, index) => {
    const left = at - (kept[index - 1] ?? -1) - 1;
    const gap = left === 0 ? [] : [`… ${counted(left, 'line')} …`];
    return [...gap, lines[at]!.slice(0, maxColumns)];
  });
  return [
    `${terminal.paint.red('failed')}  ${visibleLine(run)}, ${shown}:`,
    ...quoted(text.join('\n'), terminal),
    `  ${terminal.paint.dim('whole log')}  ${visibleLine(path)}`,
    ...(phase === 'prepare' ? [`  ${terminal.paint.dim('what to do')}  ${preparingPage}`] : []),
    '',
  ];
}

/** Indexes of the lines that are shown. An error often stands long before the frames of its stack. */
function keptLines(lines: readonly string[]): number[] {
  const end = lines.length - lastLines;
  const indexes = [...lines.keys()];
  const middle = indexes.slice(firstLines, Math.max(firstLines, end));
  const errors = middle.filter((at) => looksLikeError(lines[at]!.slice(0, maxColumns))).slice(0, errorLines);
  return indexes.filter((at) => at < firstLines || at >= end || errors.includes(at));
}

/** Frames of a stack, warnings and counts of nothing are left out: a linter or compiler writes more of them than fit. */
function looksLikeError(line: string): boolean {
  if (/^\s*at /.test(line) || /\bwarning\b/i.test(line) || /\b0 (errors?|fail\w*)\b/i.test(line))
    return false;
  return /^\s*not ok\b|error|fail|fatal|panic|exception|expected/i.test(line);
}
