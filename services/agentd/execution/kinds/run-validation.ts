import { ValidationReport as StoredReport } from '#kit/contracts/stored-texts.ts';
import type { ActionOf } from '../../action.ts';
import { maskedEvents } from '../../runs/masked-event.ts';
import type { RunStore } from '../../runs/run-store.ts';
import { LiveLines } from '../../validation/live-lines.ts';
import type { TreeCopy } from '../../validation/tree-copy.ts';
import type { Validation, ValidationReport } from '../../validation/validation.ts';
import type { ActionExecutor, Effect } from '../action-executor.ts';
import type { RunWorkspace } from '../run-workspace.ts';

/** Runs the approved commands on the approved tree, in the sandbox, and keeps report and logs as artifacts. */
export function runValidation(
  workspace: RunWorkspace,
  /** What runs it as it was approved. */
  validation: (action: ActionOf<'run_validation'>) => Promise<Validation>,
  store: RunStore,
): ActionExecutor<'run_validation'> {
  const none = Promise.resolve(undefined);
  let ready: Promise<TreeCopy | undefined> = none;
  let removed: Promise<void> | undefined;

  async function copyTree(action: ActionOf<'run_validation'>): Promise<TreeCopy> {
    await workspace.ensureTree();
    return (await validation(action)).copy({ mirror_dir: workspace.mirrorDir, tree: action.params.tree });
  }

  return {
    getReady({ action }) {
      ready = copyTree(action).catch(() => undefined);
    },
    async letGo() {
      await Promise.all([removed, ready.then((copy) => copy?.remove())]);
    },
    async check(step) {
      await workspace.ensureTree();
      await validation(step.action);
    },
    async render() {
      return { bytes: {}, forge_time: null, operation_before: null };
    },
    async perform(step): Promise<Effect> {
      const { plan, tree } = step.action.params;
      const runner = await validation(step.action);
      const copy = await ready;
      ready = none;
      const output = new LiveLines(step.progress);
      let report: ValidationReport;
      try {
        report = await runner.run({
          mirror_dir: workspace.mirrorDir,
          base_commit: step.action.target.base_commit,
          tree,
          plan,
          signal: step.signal,
          onStep(text) {
            output.flush();
            step.progress(text);
          },
          onOutput: (text) => output.add(text),
          ...(copy === undefined ? {} : { copy }),
        });
      } finally {
        output.flush();
        // Beside the actions that follow.
        removed = copy?.remove();
      }
      const stored = await storeReport(store, step.run.run_id, report);
      await store.append(step.run.run_id, (run) => maskedEvents(run, report.masked));
      return effectOf(report, stored);
    },
    async reconcile() {
      return { kind: 'again' };
    },
    async previewUndo() {
      return { effect: 'nothing', message: 'ran in a copy that is gone' };
    },
    async undo() {
      return { state: 'undone', message: 'ran in a copy that is gone' };
    },
  };
}

interface StoredDigests {
  readonly report: string;
  readonly logs: Readonly<Record<string, string>>;
}

async function storeReport(store: RunStore, runId: string, report: ValidationReport): Promise<StoredDigests> {
  const logs: Record<string, string> = {};
  for (const step of report.steps)
    logs[`${step.phase}-${step.name}`] = await store.putArtifact(runId, step.log);
  const steps = report.steps.map(({ log: _, ...facts }) => ({
    ...facts,
    log: logs[`${facts.phase}-${facts.name}`]!,
  }));
  const stored = StoredReport.encode({ ...report, steps });
  return { report: await store.putArtifact(runId, `${JSON.stringify(stored, null, 2)}\n`), logs };
}

function effectOf(report: ValidationReport, { report: digest, logs }: StoredDigests): Effect {
  const facts = { passed: report.passed, report: digest, logs, tree: report.tree, sandbox: report.sandbox };
  const seconds = (report.duration_ms / 1000).toFixed(1);
  const where = report.sandbox === 'none' ? 'without a sandbox' : `in ${report.sandbox}`;
  if (report.passed) {
    const names = report.steps.filter(({ phase }) => phase === 'run').map(({ run }) => run);
    return {
      succeeded: true,
      message: `${names.join(' && ')} passed in ${seconds} s (${where})`,
      facts,
      vcs: null,
    };
  }
  const failed = report.steps.find(({ exit_code, ended_by }) => exit_code !== 0 || ended_by !== 'exit');
  const how = failed === undefined ? 'nothing ran' : `${failed.run} ${howItEnded(failed)}`;
  return {
    succeeded: false,
    code: 'validation_failed',
    message: `${how} after ${seconds} s (${where})`,
    facts,
    vcs: null,
  };
}

function howItEnded({ ended_by, exit_code }: { ended_by: string; exit_code: number | null }): string {
  switch (ended_by) {
    case 'timeout':
      return 'ran out of time';
    case 'memory':
      return 'ran out of memory';
    case 'signal':
      return 'was ended by a signal';
    case 'cancelled':
      return 'was cancelled';
    default:
      return `ended with exit status ${exit_code}`;
  }
}
