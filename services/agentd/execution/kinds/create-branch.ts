import { existsSync } from 'node:fs';
import type { ActionExecutor } from '../action-executor.ts';
import { reconcileBuildStep, renderBuildStep } from '../build-effect.ts';
import { buildStep } from '../build-step.ts';
import type { RunWorkspace } from '../run-workspace.ts';

/** A new change on the base commit, with the branch on it, in our own clone. */
export function createBranch(workspace: RunWorkspace): ActionExecutor<'create_branch'> {
  return {
    async check() {
      await workspace.ensureTree();
    },
    render: () => renderBuildStep(workspace),
    async perform(step, intent) {
      const vcs = await workspace.build(buildStep(step.action, intent));
      const { branch, base_commit } = step.action.params;
      return {
        succeeded: true,
        message: `${branch} at ${base_commit.slice(0, 12)} (${vcs.kind})`,
        facts: { branch },
        vcs,
      };
    },
    reconcile: (_step, intent) => reconcileBuildStep(workspace, intent),
    async previewUndo(step) {
      if (!existsSync(workspace.cloneDir)) return { effect: 'nothing', message: 'the clone is gone already' };
      const operation = step.run.workspace!.vcs.operation_id.slice(0, 12);
      return { effect: 'undo', message: `restore operation ${operation} in the clone` };
    },
    async undo(step) {
      if (!existsSync(workspace.cloneDir)) return { state: 'undone', message: 'the clone is gone already' };
      const operation = step.run.workspace!.vcs.operation_id;
      await workspace.restore(operation);
      return { state: 'undone', message: `operation ${operation.slice(0, 12)} restored in the clone` };
    },
  };
}
