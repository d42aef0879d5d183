import { existsSync } from 'node:fs';
import * as t from 'io-ts';
import { crashPoint } from '#kit/crash-point.ts';
import { Failed, Refused } from '#kit/errors.ts';
import { Author } from '../action.ts';
import {
  type ActionExecutor,
  type Effect,
  type ExecutionPorts,
  outcomeFact,
  reconcileBuildStep,
  renderBuildStep,
  type Step,
} from './executor.ts';
import { type ActionType, type Definition, factText } from './kind.ts';
import { commitMessage, fillTemplate, slotValues } from './published-texts.ts';
import { assess } from './risk.ts';

export const CommitParams = t.strict({
  tree: t.string,
  /** Template; see `slots`. */
  message: t.string,
  author: Author,
  /** The ref that appears in the person's checkout, for example `refs/heads/core/1-…`. */
  deliver_ref: t.string,
});
type Params = t.TypeOf<typeof CommitParams>;
type Commit = Definition<'commit', Params>;

/** Describes the change in the clone, then brings the branch into the person's checkout: one new ref, nothing else. */
export const commit: ActionType<'commit', Params> = {
  kind: 'commit',
  gate: 'build',
  params: CommitParams,
  artifacts: [],

  propose(plan) {
    if (plan.proposes !== 'change') return null;
    const { target, policy } = plan;
    const message = commitMessage(plan.title, plan.number, plan.run_id, plan.explanation);
    return {
      title: message.split('\n', 1)[0]!,
      rationale: 'Records the change and brings the branch into your checkout.',
      params: {
        tree: target.tree!,
        message,
        author: policy.commit_author,
        deliver_ref: `refs/heads/${target.branch}`,
      },
      needs: ['apply_patch', 'run_validation'],
      risk: assess(policy.risk.base.commit, [], policy),
    };
  },

  duplicates: ({ params, target }) => [
    ['tree', params.tree, 'target.tree', target.tree],
    ['deliver_ref', params.deliver_ref, 'the branch', `refs/heads/${target.branch}`],
  ],

  describe: ({ params: { message } }) => ({ main: message.split('\n', 1)[0]!, note: '' }),

  results({ target }, facts) {
    const built = ['commit', `${factText(facts, 'commit').slice(0, 12)} on ${target.branch ?? ''}`] as const;
    const delivered = factText(facts, 'delivered_ref');
    const checkout = factText(facts, 'repo_dir');
    if (delivered === '' || checkout === '') return [built];
    return [built, ['checkout', `${checkout} has ${delivered.replace('refs/heads/', '')}`]];
  },

  buildStep: ({ target, params: { tree, author } }, { rendered, effect_at: at }) => ({
    kind: 'commit',
    branch: target.branch!,
    tree,
    message: String(rendered.message),
    author,
    at,
  }),
  executor,
};

function executor({ clone, checkout }: ExecutionPorts): ActionExecutor<Commit> {
  async function deliver({ action, repo_dir }: Step<Commit>, vcs: NonNullable<Effect['vcs']>) {
    const { params, target } = action;
    if (vcs.commit === null || vcs.tree !== params.tree) {
      throw new Failed('tree_differs', `the commit has tree ${vcs.tree}; approved was ${params.tree}`);
    }
    crashPoint('commit.built');
    const { deliver_ref } = params;
    await checkout.deliver(repo_dir!, target.push_url, clone.dir, deliver_ref, vcs.commit);
    crashPoint('commit.delivered');
    return {
      succeeded: true,
      message: `${vcs.commit.slice(0, 12)}, delivered as ${deliver_ref.replace('refs/heads/', '')}`,
      facts: { commit: vcs.commit, tree: vcs.tree, delivered_ref: deliver_ref, repo_dir },
      vcs,
    };
  }

  return {
    async check({ repo_dir, action }) {
      if (repo_dir === null) throw repoDirRequired();
      await checkout.check(repo_dir, action.target.push_url);
      await clone.ensureTree();
    },
    render: ({ action, run }) =>
      renderBuildStep(clone, { message: fillTemplate(action.params.message, slotValues(run)) }),
    perform: async (step, intent) => deliver(step, await clone.build(commit.buildStep!(step.action, intent))),
    reconcile: (_step, intent) => reconcileBuildStep(clone, intent),
    async undoing({ action, run, state }) {
      const dir = state.outcome?.facts.repo_dir;
      const delivered = outcomeFact(run, 'commit', 'commit') ?? state.vcs?.commit;
      if (typeof dir !== 'string' || typeof delivered !== 'string')
        return { effect: 'nothing', message: 'was not delivered' };
      if (!existsSync(dir)) return { effect: 'nothing', message: `${dir} is gone, and the branch with it` };
      const { deliver_ref } = action.params;
      const { push_url } = action.target;
      const inUse = await checkout.whyInUse(dir, push_url, deliver_ref).catch(() => null);
      const message = `delete ${deliver_ref} in ${dir}, if it is still ours`;
      return {
        effect: 'undo',
        message: inUse === null ? message : `${message}; ${inUse}`,
        act: () => checkout.withdraw(dir, push_url, deliver_ref, delivered),
      };
    },
  };
}

export function repoDirRequired(): Refused {
  return new Refused(
    'repo_dir_required',
    'commit delivers the branch into your checkout, and you are in none of this repository; go there, or name it with --repo-dir',
  );
}
