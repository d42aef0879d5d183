import { setTimeout } from 'node:timers/promises';
import * as t from 'io-ts';
import { messageOf, NotFound, Refused } from '#kit/errors.ts';
import type { ActionIntent } from '../action.ts';
import type { Comment } from '../ports/forge.ts';
import { accountOf, againAs, isBy, requireAccount } from './account.ts';
import type { ActionExecutor, Effect, ExecutionPorts, Step } from './executor.ts';
import { type ActionType, type Definition, factText } from './kind.ts';
import { fillTemplate, issueComment, marker, plainComment, slotValues } from './published-texts.ts';
import { assess, withSameRejected } from './risk.ts';

/** The local forge has the clock of whoever asks, and the servers of one forge may not agree to the second. */
const skewMs = 600_000;

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

function executor({
  forge,
  writer,
  late,
  quietMs,
  safeguards,
}: ExecutionPorts): ActionExecutor<CommentIssue> {
  /** The recorded one, and those of our account with our marker: an outsider may copy the marker, not the author. Oldest first. */
  async function find(
    { action, state }: Step<CommentIssue>,
    intent: ActionIntent | null,
  ): Promise<Comment[]> {
    const { target, params, action_id, run_id } = action;
    const began = intent?.forge_time ?? null;
    const since = began === null ? undefined : new Date(Date.parse(began) - skewMs).toISOString();
    const comments = await forge.comments(target, params.number, since === undefined ? {} : { since });
    const account = await accountOf(forge, intent);
    return comments
      .filter(
        ({ id, author, body }) =>
          id === state.outcome?.facts.id ||
          (isBy(author, account) && body.includes(marker(run_id, action_id))),
      )
      .toSorted(byAge);
  }

  /**
   * Keeps the recorded comment, else the oldest, and deletes the others, whoever of us made them: a host that lost the lease while
   * its request left makes one too many. It deletes the same ones, so this needs no lease.
   */
  async function keepOne(step: Step<CommentIssue>, comments: readonly Comment[]): Promise<Effect | null> {
    const kept = comments.find(({ id }) => id === step.state.outcome?.facts.id) ?? comments[0];
    if (kept === undefined) return null;
    const { target, params } = step.action;
    const deleted: string[] = [];
    for (const { id } of comments.filter((comment) => comment !== kept)) {
      try {
        await late.deleteComment(target, params.number, id).catch(unlessGone);
        deleted.push(id);
        step.progress(`comment ${id} was deleted: comment ${kept.id} says the same`);
      } catch (error) {
        step.progress(`comment ${id} says the same as ${kept.id}; delete it by hand: ${messageOf(error)}`);
      }
    }
    return effectOf(kept, deleted);
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
      const body = fillTemplate(action.params.body, slotValues(run));
      const { forge_time } = await forge.repository(action.target);
      return { bytes: { body }, forge_time, account: await forge.self(), operation_before: null };
    },
    async perform(step, intent) {
      await requireAccount(forge, intent);
      const { target, params } = step.action;
      const made = await writer.comment(target, params.number, String(intent.rendered.body));
      // Looking for others is no part of the effect.
      const found = await find(step, intent).catch(() => []);
      const others = found.filter(({ id }) => id !== made.id);
      return (await keepOne(step, [...others, made].toSorted(byAge))) ?? effectOf(made);
    },
    async reconcile(step, intent) {
      for (;;) {
        const effect = await keepOne(step, await find(step, intent));
        if (effect !== null) return { kind: 'done', effect };
        const wait = forge.deadline_ms - quietMs();
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
            await writer.deleteComment(target, params.number, id).catch(unlessGone);
          }
          return { state: 'undone', message: `comment on #${params.number} deleted` };
        },
      };
    },
  };
}

function effectOf({ id, html_url: url }: Comment, deleted: readonly string[] = []): Effect {
  const one = url ?? `comment ${id}`;
  const facts = { id, url };
  if (deleted.length === 0) return { succeeded: true, message: one, facts, vcs: null };
  const message = `${one}; deleted ${deleted.length} more that a host had made which lost the run meanwhile`;
  return { succeeded: true, message, facts: { ...facts, deleted }, vcs: null };
}

function byAge(a: Comment, b: Comment): number {
  return Date.parse(a.created_at) - Date.parse(b.created_at) || Number(a.id) - Number(b.id);
}

function unlessGone(error: unknown): void {
  if (!(error instanceof NotFound)) throw error;
}
