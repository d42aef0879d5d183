import { join } from 'node:path';
import { decodeJson } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { codeOf } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import type { Run } from '../runs/run.ts';
import type { CommandContext } from './command-context.ts';

/** The step that made a validation fail, with what it said. */
export interface FailedStep {
  readonly run: string;
  /** As the step wrote it: not safe to print. */
  readonly log: string;
  /** Where the whole log lies. */
  readonly path: string;
}

/** null where no validation failed, or where its log is gone. */
export async function failedStep(context: CommandContext, run: Run): Promise<FailedStep | null> {
  const outcome = run.actions.find(({ definition }) => definition.kind === 'run_validation')?.outcome;
  const report = outcome?.facts.report;
  if (outcome?.code !== 'validation_failed' || typeof report !== 'string') return null;
  const [agent, { ValidationReport }, { validationCopies }] = await Promise.all([
    context.services.agent(),
    import('#kit/contracts/stored-texts.ts'),
    import('../runs/views.ts'),
  ]);
  const read = async (digest: string) => Buffer.from(await agent.artifact(run.run_id, digest)).toString();
  try {
    const { steps } = decodeJson(ValidationReport, await read(report), `validation report ${report}`);
    const failed = steps.find(({ exit_code, ended_by }) => exit_code !== 0 || ended_by !== 'exit');
    if (failed === undefined) return null;
    const { state } = resolveFolders({ home: context.suggestions.home }, environment);
    const [name = ''] = [...validationCopies(run)].find(([, digest]) => digest === failed.log) ?? [];
    const path = join(state, 'runs', run.run_id, 'validation', name);
    return { run: failed.run, log: await read(failed.log), path };
  } catch (error) {
    if (['artifact_not_found', 'artifact_damaged'].includes(codeOf(error))) return null;
    throw error;
  }
}
