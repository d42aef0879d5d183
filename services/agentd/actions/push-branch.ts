import * as t from 'io-ts';
import { Conflict, Refused } from '#kit/errors.ts';
import type { Target } from '../action.ts';
import { againAs, requireAccount } from './account.ts';
import {
  type ActionExecutor,
  type Effect,
  type ExecutionPorts,
  outcomeFact,
  type RunSoFar,
  type Step,
} from './executor.ts';
import type { ActionType, Definition } from './kind.ts';
import { assess } from './risk.ts';

export const PushBranchParams = t.strict({
  branch: t.string,
  push_url: t.string,
  /** Continuous-integration workflow files that the push would start. */
  workflows: t.array(t.string),
});
type Params = t.TypeOf<typeof PushBranchParams>;
type PushBranch = Definition<'push_branch', Params>;

/** Publishes the commit under its branch, guarded by a lease: the remote branch must not exist yet. */
export const pushBranch: ActionType<'push_branch', Params> = {
  kind: 'push_branch',
  gate: 'publish',
  params: PushBranchParams,
  artifacts: [],

  propose(plan) {
    if (plan.proposes !== 'change' || plan.push_refused !== null) return null;
    if (plan.validation === null || plan.sandbox === null) return null;
    const { target, policy, workflows } = plan;
    const starts = workflows.length > 0 ? `starts ${workflows.join(', ')}` : null;
    return {
      title: starts === null ? placeOf(target) : `${placeOf(target)}, ${starts}`,
      rationale: 'Makes the commit visible to others.',
      params: { branch: target.branch!, push_url: target.push_url, workflows: [...workflows] },
      needs: ['commit', 'run_validation'],
      risk: assess(
        policy.risk.base.push_branch,
        starts === null ? [] : [[policy.risk.starts_workflows, starts]],
        policy,
      ),
    };
  },

  duplicates: ({ params, target }) => [
    ['branch', params.branch, 'target.branch', target.branch],
    ['push_url', params.push_url, 'target.push_url', target.push_url],
  ],

  describe: ({ params: { workflows }, target }) => ({
    main: placeOf(target),
    note: workflows.length > 0 ? `starts workflow ${workflows.map(baseName).join(', ')}` : '',
  }),
  results: ({ params }) => [['remote', params.push_url]],

  buildStep: null,
  executor,
};

function executor({ clone, forge, safeguards }: ExecutionPorts): ActionExecutor<PushBranch> {
  function done({ action }: Step<PushBranch>, commit: string): Effect {
    const { branch, push_url } = action.params;
    return {
      succeeded: true,
      message: `${branch} pushed at ${commit.slice(0, 12)}`,
      facts: { branch, commit, remote: push_url },
      vcs: null,
    };
  }

  async function isMerged({ action }: Step<PushBranch>): Promise<boolean> {
    const pulls = await forge.findPullRequests(action.target, action.params.branch);
    return pulls.some((pull) => pull.state === 'merged');
  }

  return {
    max_wait_ms: forge.deadline_ms,
    async check({ run, action, dry_run }) {
      const { branch } = action.params;
      await safeguards.requireUnprotected(action.target, branch);
      if (dry_run) return void (await clone.remoteBranch(branch));
      await safeguards.requireValidation(run, action.target.tree!);
      const commit = builtCommit(run);
      const { tree } = await clone.state();
      if (tree !== action.target.tree) {
        throw new Refused(
          'tree_differs',
          `the clone's commit has tree ${tree}; approved was ${action.target.tree}`,
        );
      }
      const actual = await clone.remoteBranch(branch);
      if (actual !== null && actual !== commit) {
        throw new Conflict(
          'branch_exists',
          `${branch} exists on the remote at ${actual.slice(0, 12)} and is not ours; nothing was pushed`,
        );
      }
    },
    async render({ run, action }) {
      return {
        bytes: { branch: action.params.branch, commit: builtCommit(run), expected: null },
        forge_time: null,
        account: await forge.self(),
        operation_before: await clone.operation(),
      };
    },
    async perform(step, intent) {
      await requireAccount(forge, intent);
      const { branch } = step.action.params;
      const commit = builtCommit(step.run);
      const outcome = await clone.publish(branch, commit, null);
      const pushed = async () => ({ ...done(step, commit), vcs: await clone.facts(await clone.state()) });
      if (outcome.result === 'done') return pushed();
      const actual = await clone.remoteBranch(branch);
      if (actual === commit) return pushed();
      const code = outcome.result === 'moved' ? 'branch_moved' : 'push_rejected';
      return { succeeded: false, code, message: outcome.message, facts: { actual }, vcs: null };
    },
    async reconcile(step, intent) {
      await clone.open();
      const { branch } = step.action.params;
      const commit = builtCommit(step.run);
      const actual = await clone.remoteBranch(branch);
      if (actual === commit) return { kind: 'done', effect: done(step, commit) };
      if (actual === null)
        return (await isMerged(step)) ? { kind: 'done', effect: done(step, commit) } : againAs(forge, intent);
      return {
        kind: 'conflict',
        message: `${branch} is at ${actual.slice(0, 12)} on the remote; ours is ${commit.slice(0, 12)}`,
      };
    },
    async undoing(step) {
      const { branch } = step.action.params;
      if (step.state.state === 'failed') return { effect: 'nothing', message: 'was not pushed' };
      const actual = await clone.remoteBranch(branch);
      if (actual === null) return { effect: 'nothing', message: `${branch} is gone from the remote already` };
      if (await isMerged(step)) return { effect: 'keep', message: `merged: ${branch} stays` };
      // What we pushed, by its result or, after an unknown outcome, by its intent.
      const ours = String(step.state.outcome?.facts.commit ?? step.state.intent?.rendered.commit);
      if (actual !== ours) {
        throw new Refused(
          'branch_moved',
          `others pushed on top: ${branch} is at ${actual.slice(0, 12)}, ours was ${ours.slice(0, 12)}; nothing was undone`,
        );
      }
      await requireAccount(forge, step.state.intent);
      return {
        effect: 'undo',
        message: `delete ${branch} on the remote, if it is still at ${ours.slice(0, 12)}`,
        async act() {
          const outcome = await clone.unpublish(branch, ours);
          if (outcome.result === 'done')
            return { state: 'undone', message: `${branch} deleted on the remote` };
          return { state: 'failed', message: outcome.message };
        },
      };
    },
  };
}

/** No remote's name: in the person's checkout that may be another repository. */
function placeOf({ forge, owner, repo }: Target): string {
  return `${owner}/${repo} on ${forge}`;
}

function builtCommit(run: RunSoFar): string {
  const commit = outcomeFact(run, 'commit', 'commit');
  if (typeof commit === 'string') return commit;
  throw new Refused('nothing_to_push', `run ${run.run_id} has no commit yet`);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
