import { existsSync } from 'node:fs';
import * as t from 'io-ts';
import { optional } from '#kit/decode.ts';
import { Author } from '../action.ts';
import { reconcileBuildStep, renderBuildStep } from './executor.ts';
import { type ActionType, authorOf } from './kind.ts';
import { assess } from './risk.ts';

/** Members that older versions of Core did not seal are optional: such a plan can be read and undone, and never runs. */
export const CreateBranchParams = t.strict({
  branch: t.string,
  base_branch: t.string,
  base_commit: t.string,
  author: optional(Author),
});

/** A new change on the base commit, with the branch on it, in our own clone. */
export const createBranch: ActionType<'create_branch', t.TypeOf<typeof CreateBranchParams>> = {
  kind: 'create_branch',
  gate: 'build',
  params: CreateBranchParams,
  artifacts: [],

  propose(plan) {
    if (plan.proposes !== 'change') return null;
    const { branch, base_branch, base_commit } = plan.target;
    const { commit_author: author, risk } = plan.policy;
    return {
      title: branch!,
      rationale: `A new branch keeps ${base_branch} untouched.`,
      params: { branch: branch!, base_branch, base_commit, author },
      needs: [],
      risk: assess(risk.base.create_branch, [], plan.policy),
    };
  },

  duplicates: ({ params, target }) => [
    ['branch', params.branch, 'target.branch', target.branch],
    ['base_branch', params.base_branch, 'target.base_branch', target.base_branch],
    ['base_commit', params.base_commit, 'target.base_commit', target.base_commit],
  ],

  describe: ({ params: { branch } }) => ({ main: branch, note: '' }),
  results: () => [],

  buildStep: (action, { effect_at: at }) => ({
    kind: 'create_branch',
    branch: action.target.branch!,
    message: `Work of ${action.run_id}`,
    author: authorOf(action),
    at,
  }),

  executor: ({ clone }) => ({
    check: () => clone.ensureTree(),
    render: () => renderBuildStep(clone),
    async perform({ action }, intent) {
      const vcs = await clone.build(createBranch.buildStep!(action, intent));
      const { branch, base_commit } = action.params;
      return {
        succeeded: true,
        message: `${branch} at ${base_commit.slice(0, 12)} (${vcs.kind})`,
        facts: { branch },
        vcs,
      };
    },
    reconcile: (_step, intent) => reconcileBuildStep(clone, intent),
    async undoing({ run }) {
      if (!existsSync(clone.dir)) return { effect: 'nothing', message: 'the clone is gone already' };
      const operation = run.workspace!.vcs.operation_id;
      const shown = operation.slice(0, 12);
      return {
        effect: 'undo',
        message: `restore operation ${shown} in the clone`,
        async act() {
          await clone.restore(operation);
          return { state: 'undone', message: `operation ${shown} restored in the clone` };
        },
      };
    },
  }),
};
