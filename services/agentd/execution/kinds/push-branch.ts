import { Conflict, Refused } from '#kit/errors.ts';
import { remoteBranch } from '../../git/remote.ts';
import type { Forge } from '../../planning/forge.ts';
import type { Policy } from '../../planning/policy.ts';
import type { Run } from '../../runs/run.ts';
import type { RunStore } from '../../runs/run-store.ts';
import { type ActionExecutor, type Effect, outcomeFact, type Step } from '../action-executor.ts';
import type { RunWorkspace } from '../run-workspace.ts';
import { requireUnprotected } from '../safeguards.ts';
import { againAs, requireAccount } from '../same-account.ts';
import { requireValidation } from '../validation-report.ts';

/** Publishes the commit under its branch, guarded by a lease: the remote branch must not exist yet. */
export function pushBranch(
  workspace: RunWorkspace,
  forge: Forge,
  policy: Policy,
  store: RunStore,
): ActionExecutor<'push_branch'> {
  async function remoteHead(step: Step<'push_branch'>): Promise<string | null> {
    return remoteBranch(step.action.params.push_url, step.action.params.branch, await workspace.credential());
  }

  function done(step: Step<'push_branch'>, commit: string): Effect {
    const { branch, push_url } = step.action.params;
    return {
      succeeded: true,
      message: `${branch} is at ${commit.slice(0, 12)}`,
      facts: { branch, commit, remote: push_url },
      vcs: null,
    };
  }

  async function merged(step: Step<'push_branch'>): Promise<boolean> {
    const pulls = await forge.findPullRequests(step.action.target, step.action.params.branch);
    return pulls.some((pull) => pull.state === 'merged');
  }

  return {
    patience_ms: forge.deadline_ms,
    async check(step) {
      const { branch } = step.action.params;
      await requireUnprotected(forge, policy, step.action.target, branch);
      if (step.rehearsal) return void (await remoteHead(step));
      await requireValidation(store, step.run, step.action.target.tree!);
      const commit = builtCommit(step.run);
      const { tree } = await workspace.state();
      if (tree !== step.action.target.tree) {
        throw new Refused(
          'tree_differs',
          `the clone's commit has tree ${tree}; approved was ${step.action.target.tree}`,
        );
      }
      const actual = await remoteHead(step);
      if (actual !== null && actual !== commit) {
        throw new Conflict(
          'branch_exists',
          `${branch} exists on the remote at ${actual.slice(0, 12)} and is not ours; nothing was pushed`,
        );
      }
    },
    async render(step) {
      const commit = builtCommit(step.run);
      return {
        bytes: { branch: step.action.params.branch, commit, expected: null },
        forge_time: null,
        account: await forge.self(),
        operation_before: await workspace.operation(),
      };
    },
    async perform(step, intent) {
      await requireAccount(forge, intent);
      const commit = builtCommit(step.run);
      const outcome = await workspace.publish(step.action.params.branch, commit, null);
      const pushed = async () => ({
        ...done(step, commit),
        vcs: await workspace.facts(await workspace.state()),
      });
      // What publishing saw on the remote afterwards; anything else is looked at once more.
      if (outcome.result === 'done') return pushed();
      const actual = await remoteHead(step);
      if (actual === commit) return pushed();
      const code = outcome.result === 'moved' ? 'branch_moved' : 'push_rejected';
      return { succeeded: false, code, message: outcome.message, facts: { actual }, vcs: null };
    },
    async reconcile(step, intent) {
      await workspace.open();
      const commit = builtCommit(step.run);
      const actual = await remoteHead(step);
      if (actual === commit) return { kind: 'done', effect: done(step, commit) };
      if (actual === null)
        return (await merged(step)) ? { kind: 'done', effect: done(step, commit) } : againAs(forge, intent);
      return {
        kind: 'conflict',
        message: `${step.action.params.branch} is at ${actual.slice(0, 12)} on the remote; ours is ${commit.slice(0, 12)}`,
      };
    },
    async previewUndo(step) {
      const { branch } = step.action.params;
      if (step.state.state === 'failed') return { effect: 'nothing', message: 'was not pushed' };
      const actual = await remoteHead(step);
      if (actual === null) return { effect: 'nothing', message: `${branch} is gone from the remote already` };
      if (await merged(step)) return { effect: 'keep', message: `${branch} was merged; the branch stays` };
      const ours = pushedCommit(step);
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
      };
    },
    async undo(step) {
      const { branch } = step.action.params;
      if (step.state.state === 'failed') return { state: 'undone', message: 'was not pushed' };
      if (await merged(step)) return { state: 'kept', message: `${branch} was merged; the branch stays` };
      if ((await remoteHead(step)) === null)
        return { state: 'undone', message: `${branch} is gone from the remote` };
      await requireAccount(forge, step.state.intent);
      const outcome = await workspace.unpublish(branch, pushedCommit(step));
      if (outcome.result === 'done') return { state: 'undone', message: `${branch} deleted on the remote` };
      return { state: 'failed', message: outcome.message };
    },
  };
}

function builtCommit(run: Run): string {
  const commit = outcomeFact(run, 'commit', 'commit');
  if (typeof commit === 'string') return commit;
  throw new Refused('nothing_to_push', `run ${run.run_id} has no commit yet`);
}

/** What we pushed, by its result or, after an unknown outcome, by its intent. */
function pushedCommit(step: Step<'push_branch'>): string {
  return String(step.state.outcome?.facts.commit ?? step.state.intent?.rendered.commit);
}
