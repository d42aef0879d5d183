import type { Intent, Reconciliation, Rendered } from './action-executor.ts';
import type { RunWorkspace } from './run-workspace.ts';

/** What a build step fixes before it acts: the operation to come back to. */
export async function renderBuildStep(
  workspace: RunWorkspace,
  bytes: Rendered['bytes'] = {},
): Promise<Rendered> {
  return { bytes, forge_time: null, operation_before: await workspace.operation() };
}

/** Goes back to before the step, whatever the crash left of it. */
export async function reconcileBuildStep(workspace: RunWorkspace, intent: Intent): Promise<Reconciliation> {
  if (intent.operation_before !== null) await workspace.restore(intent.operation_before);
  return { kind: 'again' };
}
