import { describeFiles } from '../../planning/propose-actions.ts';
import type { ActionExecutor } from '../action-executor.ts';
import { reconcileBuildStep, renderBuildStep } from '../build-effect.ts';
import { buildStep } from '../build-step.ts';
import type { RunWorkspace } from '../run-workspace.ts';

/** Turns the working copy of our own clone into exactly the approved tree. */
export function applyPatch(workspace: RunWorkspace): ActionExecutor<'apply_patch'> {
  return {
    async check() {
      await workspace.ensureTree();
    },
    render: () => renderBuildStep(workspace),
    async perform(step, intent) {
      const vcs = await workspace.build(buildStep(step.action, intent));
      const { tree, files } = step.action.params;
      return { succeeded: true, message: describeFiles(files), facts: { tree }, vcs };
    },
    reconcile: (_step, intent) => reconcileBuildStep(workspace, intent),
    async previewUndo() {
      return { effect: 'nothing', message: 'goes with the branch in the clone' };
    },
    async undo() {
      return { state: 'undone', message: 'goes with the branch in the clone' };
    },
  };
}
