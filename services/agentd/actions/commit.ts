import * as t from 'io-ts';
import { crashPoint } from '#kit/crash-point.ts';
import { optional } from '#kit/decode.ts';
import { Failed, Refused } from '#kit/errors.ts';
import { type ActionIntent, Author, type CheckoutPlace } from '../action.ts';
import {
  type ActionExecutor,
  type Effect,
  type ExecutionPorts,
  type Ours,
  outcomeFact,
  reconcileBuildStep,
  renderBuildStep,
  type Step,
  type UndoResult,
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
  /** Without a checkout that execution names the branch reaches the forge alone. Missing in plans of older versions, which always deliver. */
  deliver_when: optional(t.literal('checkout_named')),
});
type Params = t.TypeOf<typeof CommitParams>;
type Commit = Definition<'commit', Params>;

/** Describes the change in the clone, then brings the branch into the person's checkout, where there is one: one new ref, nothing else. */
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
      rationale:
        'Records the change. The branch appears in the checkout that the execution names; where it names none, on the forge alone.',
      params: {
        tree: target.tree!,
        message,
        author: policy.commit_author,
        deliver_ref: `refs/heads/${target.branch}`,
        deliver_when: 'checkout_named',
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

  buildStep: stepOf,
  executor,
};

function stepOf(
  { target, params: { tree, author } }: Commit,
  { rendered, effect_at: at }: ActionIntent,
): Ours['steps'][number] {
  return { kind: 'commit', branch: target.branch!, tree, message: String(rendered.message), author, at };
}

function executor({ clone, checkout }: ExecutionPorts): ActionExecutor<Commit> {
  async function deliver(
    { action }: Step<Commit>,
    { deliver_to }: ActionIntent,
    vcs: NonNullable<Effect['vcs']>,
  ) {
    const repo_dir = deliver_to?.dir ?? null;
    const { params, target } = action;
    if (vcs.commit === null || vcs.tree !== params.tree) {
      throw new Failed('tree_differs', `the commit has tree ${vcs.tree}; approved was ${params.tree}`);
    }
    crashPoint('commit.built');
    const { deliver_ref } = params;
    if (repo_dir !== null) {
      await checkout.deliver(repo_dir, target.push_url, clone.dir, deliver_ref, vcs.commit);
      crashPoint('commit.delivered');
    }
    const branch = deliver_ref.replace('refs/heads/', '');
    const where =
      repo_dir === null ? 'in no checkout: the branch reaches the forge alone' : `delivered as ${branch}`;
    return {
      succeeded: true,
      message: `${vcs.commit.slice(0, 12)}, ${where}`,
      facts: {
        commit: vcs.commit,
        tree: vcs.tree,
        delivered_ref: repo_dir === null ? null : deliver_ref,
        repo_dir,
      },
      vcs,
    };
  }

  return {
    async check({ repo_dir, action }) {
      if (repo_dir == null) requireDeliverable(action, repo_dir);
      else await checkout.check(repo_dir, action.target.push_url);
      await clone.ensureTree();
    },
    render: ({ action, run }) =>
      renderBuildStep(clone, { message: fillTemplate(action.params.message, slotValues(run)) }),
    deliversTo: async ({ action, repo_dir }) =>
      repo_dir == null ? undefined : checkout.place(repo_dir, action.target.push_url),
    perform: async (step, intent) => deliver(step, intent, await clone.build(stepOf(step.action, intent))),
    reconcile: (_step, intent) => reconcileBuildStep(clone, intent),
    async undoing({ action, run, state }) {
      const { target, params } = action;
      // The newest first: where an older one had the same path, another repository is there now.
      const places = differentPlaces(state.deliveries.map(({ deliver_to }) => deliver_to).toReversed());
      const at = [target.push_url, params.deliver_ref] as const;
      const planned = await Promise.all(places.map((place) => checkout.withdrawal(place, ...at)));
      if (planned.length === 0) return { effect: 'nothing', message: 'was not delivered' };
      const message = planned.map((one) => one.message).join('; ');
      if (planned.every(({ effect }) => effect !== 'undo')) return { effect: 'keep', message };
      const ours: Ours = {
        commit: (outcomeFact(run, 'commit', 'commit') ?? state.vcs?.commit ?? null) as string | null,
        base: target.base_commit,
        steps: state.deliveries.map((intent) => stepOf(action, intent)),
      };
      const act = async () => {
        const results: UndoResult[] = [];
        for (const place of places) results.push(await checkout.withdraw(place, ...at, ours));
        return together(results);
      };
      return { effect: 'undo', message, act };
    },
  };
}

function differentPlaces(places: readonly CheckoutPlace[]): CheckoutPlace[] {
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()];
}

/** What was taken back in one place stays in the next: the worst of them is what became of the action. */
function together(results: readonly UndoResult[]): UndoResult {
  const state = (['failed', 'kept'] as const).find((one) => results.some((result) => result.state === one));
  return { state: state ?? 'undone', message: results.map(({ message }) => message).join('; ') };
}

/** It was approved as something that reaches a checkout: an older version planned it. */
export function mustBeDelivered({ params }: Pick<Commit, 'params'>): boolean {
  return params.deliver_when === undefined;
}

/** What was approved to be delivered is never left out, nor anything because nobody said. @throws Refused (`repo_dir_required`) */
export function requireDeliverable(
  { run_id, params }: Pick<Commit, 'run_id' | 'params'>,
  repoDir: null | undefined,
): void {
  if (repoDir === undefined && !mustBeDelivered({ params })) {
    throw new Refused(
      'repo_dir_required',
      `run ${run_id} was executed without saying where its branch goes, and its commit is ahead`,
      { hint: `Say it, the second for the forge alone:\n${waysToName(run_id)}` },
    );
  }
  if (!mustBeDelivered({ params })) return;
  throw new Refused(
    'repo_dir_required',
    `run ${run_id} was planned by an older version of Core, and its commit was approved to be delivered into a checkout; name one, or plan the issue again`,
  );
}

/** The commands that say where the branch of a run goes. */
export function waysToName(runId: string): string {
  return ['--repo-dir DIR', '--no-repo-dir']
    .map((words) => `./core execute-approved --run-id ${runId} ${words}`)
    .join('\n');
}
