import * as t from 'io-ts';
import { NotFound, Refused } from '#kit/errors.ts';
import type { PullRequest } from '../ports/forge.ts';
import { accountOf, againAs, isBy, requireAccount } from './account.ts';
import {
  type ActionExecutor,
  type Effect,
  type ExecutionPorts,
  outcomeFact,
  type RunSoFar,
  type Step,
} from './executor.ts';
import { type ActionType, type Definition, factText } from './kind.ts';
import {
  changedSinceText,
  fillTemplate,
  issueSinceText,
  pullRequestBody,
  pullRequestTitle,
  slotValues,
} from './published-texts.ts';
import { assess } from './risk.ts';

export const OpenPullRequestParams = t.strict({
  title: t.string,
  body: t.string,
  head: t.string,
  base: t.string,
});
type Params = t.TypeOf<typeof OpenPullRequestParams>;
type OpenPullRequest = Definition<'open_pull_request', Params>;

export const openPullRequest: ActionType<'open_pull_request', Params> = {
  kind: 'open_pull_request',
  gate: 'publish',
  params: OpenPullRequestParams,
  artifacts: [],

  propose(plan) {
    if (plan.proposes !== 'change') return null;
    const { target, policy, run_id, number, title, explanation, change } = plan;
    return {
      title: `into ${target.base_branch}`,
      rationale: 'Asks for review of the change.',
      params: ({ action_id, earlier }) => ({
        title: pullRequestTitle(title, number),
        body: pullRequestBody({
          run_id,
          action_id,
          number,
          explanation,
          patch_by: change.patch_by,
          untested: change.untested,
          actions: earlier.map(({ ordinal, kind, title }) => ({ ordinal, kind, what: title })),
        }),
        head: target.branch!,
        base: target.base_branch,
      }),
      needs: ['push_branch', 'run_validation'],
      risk: assess(policy.risk.base.open_pull_request, [], policy),
    };
  },

  duplicates: ({ params, target }) => [
    ['head', params.head, 'target.branch', target.branch],
    ['base', params.base, 'target.base_branch', target.base_branch],
  ],

  describe: ({ params: { base } }) => ({ main: `into ${base}`, note: '' }),

  results: (_action, facts) => [
    ['pull request', [`#${factText(facts, 'number')}`, factText(facts, 'url')].filter(Boolean).join('  ')],
  ],

  buildStep: null,
  executor,
};

function executor({
  clone,
  forge,
  writer,
  safeguards,
  record,
}: ExecutionPorts): ActionExecutor<OpenPullRequest> {
  /** The recorded one, else that of our account by head branch and base; the newest where there are several. */
  async function find({ action, state }: Step<OpenPullRequest>): Promise<PullRequest | undefined> {
    const { target, params } = action;
    const recorded = state.outcome?.facts.number;
    if (typeof recorded === 'number') {
      return forge.pullRequest(target, recorded).catch((error) => {
        if (error instanceof NotFound && error.code === 'pull_request_not_found') return undefined;
        throw error;
      });
    }
    const account = await accountOf(forge, state.intent);
    const pulls = await forge.findPullRequests(target, params.head);
    return pulls
      .filter(({ author, base }) => isBy(author, account) && base === params.base)
      .toSorted((a, b) => b.number - a.number)[0];
  }

  return {
    max_wait_ms: forge.deadline_ms,
    async check({ action, run, dry_run }) {
      const { target, params } = action;
      await safeguards.requireUnprotected(target, params.head);
      if (dry_run) return;
      await safeguards.requireValidation(run, target.tree!);
      const pushed = outcomeFact(run, 'push_branch', 'commit');
      const actual = await clone.remoteBranch(params.head);
      if (actual === pushed) return;
      throw new Refused(
        'branch_moved',
        `${params.head} is at ${actual ?? 'nothing'} on the remote; approved and pushed was ${pushed}`,
      );
    },
    async render({ action, run }) {
      const { title, body } = action.params;
      const values = {
        ...slotValues(run),
        changed_since: changedSinceText(await clone.changedSince()),
        issue_since: issueSinceText(run.issue_changed),
        statement: await record.statementDigest(run.head.seq),
      };
      const { forge_time } = await forge.repository(action.target);
      return {
        bytes: { title: fillTemplate(title, values), body: fillTemplate(body, values) },
        forge_time,
        account: await forge.self(),
        operation_before: null,
      };
    },
    async perform(step, intent) {
      const { action } = step;
      await requireAccount(forge, intent);
      const { head, base } = action.params;
      const title = String(intent.rendered.title);
      const body = String(intent.rendered.body);
      try {
        return effectOf(await writer.openPullRequest(action.target, { title, body, head, base }));
      } catch (error) {
        // Forges refuse a second one of the same branches: the first is ours where an earlier try, or a host before us, was slow.
        const pull = error instanceof Refused ? await find(step) : undefined;
        if (pull?.state !== 'open') throw error;
        return effectOf(pull);
      }
    },
    async reconcile(step, intent) {
      const pull = await find(step);
      return pull === undefined ? againAs(forge, intent) : { kind: 'done', effect: effectOf(pull) };
    },
    async undoing(step) {
      const pull = await find(step);
      if (pull === undefined) return { effect: 'nothing', message: 'there is no pull request of ours' };
      const { number, state } = pull;
      if (state === 'merged')
        return { effect: 'keep', message: `merged: #${number} stays; revert it with a new change` };
      if (state === 'closed') return { effect: 'nothing', message: `#${number} is closed already` };
      await requireAccount(forge, step.state.intent);
      return {
        effect: 'undo',
        message: `close #${number}; its page and notifications stay`,
        async act() {
          await writer.closePullRequest(step.action.target, number);
          return { state: 'undone', message: `#${number} is closed` };
        },
      };
    },
  };
}

/** Number of the pull request that a run opened and did not take back; null where there is none. */
export function openedPullRequest(run: Pick<RunSoFar, 'actions'>): number | null {
  const opened = run.actions.find(({ definition }) => definition.kind === 'open_pull_request');
  const number = opened?.outcome?.facts.number;
  return opened?.state === 'succeeded' && typeof number === 'number' ? number : null;
}

function effectOf({ number, html_url: url }: PullRequest): Effect {
  return {
    succeeded: true,
    message: `#${number}${url === null ? '' : ` ${url}`}`,
    facts: { number, url },
    vcs: null,
  };
}
