import { ValidationReport } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { NotFound, Refused } from '#kit/errors.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { outcomeFact } from './action-executor.ts';

/**
 * The safeguard before anything is published: the validation's artifacts exist, it passed, and it is about exactly this tree.
 * @throws Refused (`validation_missing`, `validation_failed`, `validation_of_other_tree`)
 */
export async function requireValidation(store: RunStore, run: Run, tree: string): Promise<ValidationReport> {
  const digest = outcomeFact(run, 'run_validation', 'report');
  if (typeof digest !== 'string') {
    throw new Refused(
      'validation_missing',
      `run ${run.run_id} has no validation that passed; nothing is published without one`,
    );
  }
  const report = await readReport(store, run.run_id, digest);
  for (const step of report.steps) await readLog(store, run.run_id, step.log);
  if (!report.passed)
    throw new Refused(
      'validation_failed',
      `the validation of run ${run.run_id} failed; nothing is published`,
    );
  if (report.tree !== tree) {
    throw new Refused(
      'validation_of_other_tree',
      `the validation was of tree ${report.tree}; what would be published is ${tree}`,
    );
  }
  return report;
}

async function readReport(store: RunStore, runId: string, digest: string): Promise<ValidationReport> {
  return decodeJson(
    ValidationReport,
    Buffer.from(await readLog(store, runId, digest)).toString(),
    `validation report ${digest}`,
  );
}

async function readLog(store: RunStore, runId: string, digest: string): Promise<Uint8Array> {
  try {
    return await store.artifact(runId, digest);
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Refused(
      'validation_missing',
      `validation artifact ${digest} of run ${runId} is gone; nothing is published without it`,
      {
        cause: error,
      },
    );
  }
}
