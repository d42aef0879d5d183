import { setTimeout } from 'node:timers/promises';
import * as t from 'io-ts';
import { NotFound, Refused } from '#kit/errors.ts';
import type { ActionIntent } from '../action.ts';
import type { Comment } from '../ports/forge.ts';
import { accountOf, againAs, isBy, requireAccount } from './account.ts';
import type { ActionExecutor, Effect, ExecutionPorts, Step } from './executor.ts';
import { type ActionType, type Definition, factText } from './kind.ts';
import { fillTemplate, issueComment, marker, plainComment, slotValues } from './published-texts.ts';
import { assess, withSameRejected } from './risk.ts';

export const CommentIssueParams = t.strict({ number: t.number, body: t.string });
type Params = t.TypeOf<typeof CommentIssueParams>;
type CommentIssue = Definition<'comment_issue', Params>;

export const commentIssue: ActionType<'comment_issue', Params> = {
  kind: 'comment_issue',
  gate: 'publish',
  params: CommentIssueParams,
  artifacts: [],

  propose(plan) {
    const { number, run_id, policy } = plan;
    // A task has nowhere to comment.
    if (number === null) return null;
    const risk = assess(policy.risk.base.comment_issue, [], policy);
    if (plan.proposes === 'comment') {
      return {
        title: `asks on #${number}`,
        rationale: 'There is no change to propose yet.',
        params: ({ action_id }) => ({ number, body: plainComment(plan.body, run_id, action_id) }),
        needs: [],
        risk: withSameRejected(risk, plan.same_rejected, policy),
      };
    }
    return {
      title: 'links the pull request',
      rationale: 'Tells the people who follow the issue.',
      params: ({ action_id }) => ({ number, body: issueComment(run_id, action_id) }),
      needs: ['open_pull_request'],
      risk,
    };
  },

  duplicates: ({ params }, { number }) => [['number', params.number, 'the issue', number]],

  describe: ({ params: { body } }) => ({
    main: body.includes('{{pull_request}}') ? 'links the pull request' : body.trim().split('\n', 1)[0]!,
    note: '',
  }),

  results(_action, facts) {
    const url = factText(facts, 'url');
    return url === '' ? [] : [['comment', url]];
  },

  buildStep: null,
  executor,
};

function executor({ forge, writer, safeguards }: ExecutionPorts): ActionExecutor<CommentIssue> {
  /** The recorded one, else those of our account with our marker: an outsider may copy the marker, not the author. */
  async function find(
    { action, state }: Step<CommentIssue>,
    intent: ActionIntent | null,
  ): Promise<Comment[]> {
    const { target, params, action_id, run_id } = action;
    const since = intent?.forge_time ?? undefined;
    const comments = await forge.comments(target, params.number, since === undefined ? {} : { since });
    const recorded = state.outcome?.facts.id;
    if (recorded !== undefined) return comments.filter(({ id }) => id === recorded);
    const account = await accountOf(forge, intent);
    return comments.filter(
      ({ author, body }) => isBy(author, account) && body.includes(marker(run_id, action_id)),
    );
  }

  return {
    max_wait_ms: forge.deadline_ms,
    async check({ action: { target, params } }) {
      await safeguards.requireApprovedPlace(target);
      const issue = await forge.issue(target, params.number);
      if (issue.locked)
        throw new Refused('issue_locked', `#${issue.number} is locked; the forge takes no comments there`);
    },
    async render({ action, run }) {
      const body = fillTemplate(action.params.body, slotValues(run, []));
      const { forge_time } = await forge.repository(action.target);
      return { bytes: { body }, forge_time, account: await forge.self(), operation_before: null };
    },
    async perform({ action: { target, params } }, intent) {
      await requireAccount(forge, intent);
      return effectOf(await writer.comment(target, params.number, String(intent.rendered.body)));
    },
    async reconcile(step, intent) {
      for (;;) {
        const found = await find(step, intent);
        if (found.length === 1) return { kind: 'done', effect: effectOf(found[0]!) };
        if (found.length > 1)
          return {
            kind: 'ask',
            message: `${found.length} comments carry our marker; delete all but one, then resume`,
          };
        const wait = Date.parse(intent.effect_at) + forge.deadline_ms - Date.now();
        if (wait <= 0) break;
        step.progress(`the comment may still be on its way; asking again for ${Math.ceil(wait / 1000)} s`);
        await setTimeout(Math.min(wait, 3000));
      }
      if (intent.attempt === 1) return againAs(forge, intent);
      return {
        kind: 'ask',
        message: 'no comment of ours is there after two tries; look at the issue before you go on',
      };
    },
    async undoing(step) {
      const { target, params } = step.action;
      const found = await find(step, step.state.intent).catch((error) => {
        if (error instanceof NotFound && error.code === 'issue_not_found') return [];
        throw error;
      });
      if (found.length === 0) return { effect: 'nothing', message: 'the comment is gone already' };
      await requireAccount(forge, step.state.intent);
      return {
        effect: 'undo',
        message: `delete the comment on #${params.number}; those who were notified keep their mail`,
        async act() {
          for (const { id } of found) {
            await writer.deleteComment(target, params.number, id).catch((error) => {
              if (!(error instanceof NotFound)) throw error;
            });
          }
          return { state: 'undone', message: `comment on #${params.number} deleted` };
        },
      };
    },
  };
}

function effectOf({ id, html_url: url }: Comment): Effect {
  return { succeeded: true, message: url ?? `comment ${id}`, facts: { id, url }, vcs: null };
}
