import { join } from 'node:path';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { ValidationReport } from '#kit/contracts/stored-texts.ts';
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

const maxLines = 20;
const maxColumns = 500;

/** The last lines of the log, and where the rest is. */
export function failedStepLines({ phase, run, log, path }: FailedStep, terminal: Terminal): string[] {
  const lines = log.replaceAll('\r\n', '\n').trimEnd().split('\n');
  const last = lines.slice(-maxLines).map((line) => line.slice(0, maxColumns));
  const shown =
    lines.length > maxLines ? `the last ${maxLines} of ${lines.length} lines` : 'its whole output';
  return [
    `${terminal.paint.red('failed')}  ${visibleLine(run)}, ${shown}:`,
    ...quoted(last.join('\n'), terminal),
    `  ${terminal.paint.dim('whole log')}  ${visibleLine(path)}`,
    ...(phase === 'prepare' ? [`  ${terminal.paint.dim('what to do')}  ${preparingPage}`] : []),
    '',
  ];
}
