import { NotFound, Refused } from '#kit/errors.ts';
import { remoteBranch } from '../../git/remote.ts';
import { isBy } from '../../planning/authorship.ts';
import type { Forge, PullRequest } from '../../planning/forge.ts';
import type { Policy } from '../../planning/policy.ts';
import { fillTemplate } from '../../planning/template.ts';
import type { RunStore } from '../../runs/run-store.ts';
import { type ActionExecutor, type Effect, outcomeFact, type Step } from '../action-executor.ts';
import type { ForgeWriter } from '../forge-writer.ts';
import type { RunWorkspace } from '../run-workspace.ts';
import { requireUnprotected } from '../safeguards.ts';
import { accountOf, againAs, requireAccount } from '../same-account.ts';
import { slotValues } from '../slot-values.ts';
import { requireValidation } from '../validation-report.ts';

export function openPullRequest(
  workspace: RunWorkspace,
  forge: Forge,
  writer: ForgeWriter,
  policy: Policy,
  store: RunStore,
): ActionExecutor<'open_pull_request'> {
  /** The recorded one, else that of our account by head branch and base; the newest where there are several. */
  async function find(step: Step<'open_pull_request'>): Promise<PullRequest | undefined> {
    const { target, params } = step.action;
    const recorded = step.state.outcome?.facts.number;
    if (typeof recorded === 'number') {
      return forge.pullRequest(target, recorded).catch((error) => {
        if (error instanceof NotFound && error.code === 'pull_request_not_found') return undefined;
        throw error;
      });
    }
    const account = await accountOf(forge, step.state.intent);
    const pulls = await forge.findPullRequests(target, params.head);
    return pulls
      .filter(({ author, base }) => isBy(author, account) && base === params.base)
      .toSorted((a, b) => b.number - a.number)[0];
  }

  /** What undoing is about; only what is still open has to be closed by the same account. */
  async function findToUndo(step: Step<'open_pull_request'>): Promise<PullRequest | undefined> {
    const pull = await find(step);
    if (pull?.state === 'open') await requireAccount(forge, step.state.intent);
    return pull;
  }

  return {
    patience_ms: forge.deadline_ms,
    async check(step) {
      const { target, params } = step.action;
      await requireUnprotected(forge, policy, target, params.head);
      if (step.rehearsal) return;
      await requireValidation(store, step.run, target.tree!);
      const pushed = outcomeFact(step.run, 'push_branch', 'commit');
      const actual = await remoteBranch(target.push_url, params.head, await workspace.credential());
      if (actual === pushed) return;
      throw new Refused(
        'branch_moved',
        `${params.head} is at ${actual ?? 'nothing'} on the remote; approved and pushed was ${pushed}`,
      );
    },
    async render(step) {
      const { title, body } = step.action.params;
      const values = slotValues(step.run, await workspace.changedSince());
      const { forge_time } = await forge.repository(step.action.target);
      return {
        bytes: { title: fillTemplate(title, values), body: fillTemplate(body, values) },
        forge_time,
        account: await forge.self(),
        operation_before: null,
      };
    },
    async perform(step, intent) {
      await requireAccount(forge, intent);
      const { head, base } = step.action.params;
      const title = String(intent.rendered.title);
      const body = String(intent.rendered.body);
      return effectOf(await writer.openPullRequest(step.action.target, { title, body, head, base }));
    },
    async reconcile(step, intent) {
      const pull = await find(step);
      return pull === undefined ? againAs(forge, intent) : { kind: 'done', effect: effectOf(pull) };
    },
    async previewUndo(step) {
      const pull = await findToUndo(step);
      if (pull === undefined) return { effect: 'nothing', message: 'there is no pull request of ours' };
      if (pull.state === 'merged')
        return { effect: 'keep', message: `#${pull.number} is merged; revert it with a new change` };
      if (pull.state === 'closed') return { effect: 'nothing', message: `#${pull.number} is closed already` };
      return { effect: 'undo', message: `close #${pull.number}; its page and notifications stay` };
    },
    async undo(step) {
      const pull = await findToUndo(step);
      if (pull === undefined) return { state: 'undone', message: 'there is no pull request of ours' };
      if (pull.state === 'merged')
        return { state: 'kept', message: `#${pull.number} is merged; revert it with a new change` };
      if (pull.state === 'open') await writer.closePullRequest(step.action.target, pull.number);
      return { state: 'undone', message: `#${pull.number} is closed` };
    },
  };
}

function effectOf(pull: PullRequest): Effect {
  return {
    succeeded: true,
    message: `#${pull.number}${pull.html_url === null ? '' : ` ${pull.html_url}`}`,
    facts: { number: pull.number, url: pull.html_url },
    vcs: null,
  };
}
