import { existsSync } from 'node:fs';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed, Refused } from '#kit/errors.ts';
import { fillTemplate } from '../../planning/template.ts';
import { type ActionExecutor, type Effect, outcomeFact, type Step } from '../action-executor.ts';
import { reconcileBuildStep, renderBuildStep } from '../build-effect.ts';
import { buildStep } from '../build-step.ts';
import { checkCheckout, deliver, whyInUse, withdraw } from '../delivery.ts';
import type { RunWorkspace } from '../run-workspace.ts';
import { slotValues } from '../slot-values.ts';

/** Describes the change in the clone, then brings the branch into the person's checkout: one new ref, nothing else. */
export function commit(workspace: RunWorkspace): ActionExecutor<'commit'> {
  async function deliverTo(step: Step<'commit'>, commitId: string): Promise<void> {
    const { params, target } = step.action;
    await deliver(step.repo_dir!, target.push_url, workspace.cloneDir, params.deliver_ref, commitId);
    crashPoint('commit.delivered');
  }

  async function effect(step: Step<'commit'>, vcs: NonNullable<Effect['vcs']>): Promise<Effect> {
    if (vcs.commit === null || vcs.tree !== step.action.params.tree) {
      throw new Failed(
        'tree_differs',
        `the commit has tree ${vcs.tree}; approved was ${step.action.params.tree}`,
      );
    }
    crashPoint('commit.built');
    await deliverTo(step, vcs.commit);
    const { deliver_ref } = step.action.params;
    return {
      succeeded: true,
      message: `${vcs.commit.slice(0, 12)}, delivered as ${deliver_ref.replace('refs/heads/', '')}`,
      facts: { commit: vcs.commit, tree: vcs.tree, delivered_ref: deliver_ref, repo_dir: step.repo_dir },
      vcs,
    };
  }

  return {
    async check(step) {
      if (step.repo_dir === null) {
        throw repoDirRequired();
      }
      await checkCheckout(step.repo_dir, step.action.target.push_url);
      await workspace.ensureTree();
    },
    render: (step) =>
      renderBuildStep(workspace, {
        message: fillTemplate(step.action.params.message, slotValues(step.run, [])),
      }),
    async perform(step, intent) {
      return effect(step, await workspace.build(buildStep(step.action, intent)));
    },
    reconcile: (_step, intent) => reconcileBuildStep(workspace, intent),
    async previewUndo(step) {
      const dir = deliveredTo(step);
      if (dir === null) return { effect: 'nothing', message: 'was not delivered' };
      const { deliver_ref } = step.action.params;
      const message = `delete ${deliver_ref} in ${dir}, if it is still ours`;
      const hindrance = await whyInUse(dir, step.action.target.push_url, deliver_ref).catch(() => null);
      return { effect: 'undo', message: hindrance === null ? message : `${message}; ${hindrance}` };
    },
    async undo(step) {
      const dir = deliveredTo(step);
      const delivered = outcomeFact(step.run, 'commit', 'commit') ?? step.state.vcs?.commit;
      if (dir === null || typeof delivered !== 'string')
        return { state: 'undone', message: 'was not delivered' };
      if (!existsSync(dir)) return { state: 'kept', message: `${dir} is gone` };
      return withdraw(dir, step.action.target.push_url, step.action.params.deliver_ref, delivered);
    },
  };
}

function deliveredTo(step: Step<'commit'>): string | null {
  const dir = step.state.outcome?.facts.repo_dir;
  return typeof dir === 'string' ? dir : null;
}

export function repoDirRequired(): Refused {
  return new Refused(
    'repo_dir_required',
    'commit delivers the branch into your checkout; name it with --repo-dir',
  );
}
