import { setTimeout } from 'node:timers/promises';
import { NotFound, Refused } from '#kit/errors.ts';
import { isBy } from '../../planning/authorship.ts';
import type { Comment, Forge } from '../../planning/forge.ts';
import { fillTemplate } from '../../planning/template.ts';
import { marker } from '../../planning/texts.ts';
import type { ActionExecutor, Effect, Intent, Step } from '../action-executor.ts';
import type { ForgeWriter } from '../forge-writer.ts';
import { requireApprovedPlace } from '../safeguards.ts';
import { accountOf, againAs, requireAccount } from '../same-account.ts';
import { slotValues } from '../slot-values.ts';

export function commentIssue(forge: Forge, writer: ForgeWriter): ActionExecutor<'comment_issue'> {
  /** The recorded one, else those of our account with our marker: an outsider may copy the marker, not the author. */
  async function find(step: Step<'comment_issue'>, intent: Intent | null): Promise<Comment[]> {
    const { target, params, action_id, run_id } = step.action;
    const since = intent?.forge_time ?? undefined;
    const comments = await forge.comments(target, params.number, since === undefined ? {} : { since });
    const recorded = step.state.outcome?.facts.id;
    if (recorded !== undefined) return comments.filter(({ id }) => id === recorded);
    const account = await accountOf(forge, intent);
    return comments.filter(
      ({ author, body }) => isBy(author, account) && body.includes(marker(run_id, action_id)),
    );
  }

  /** What undoing would delete; nothing where the whole issue is gone. */
  async function findToUndo(step: Step<'comment_issue'>): Promise<Comment[]> {
    const found = await find(step, step.state.intent).catch((error) => {
      if (error instanceof NotFound && error.code === 'issue_not_found') return [];
      throw error;
    });
    if (found.length > 0) await requireAccount(forge, step.state.intent);
    return found;
  }

  return {
    patience_ms: forge.deadline_ms,
    async check(step) {
      await requireApprovedPlace(forge, step.action.target);
      const issue = await forge.issue(step.action.target, step.action.params.number);
      if (issue.locked)
        throw new Refused('issue_locked', `#${issue.number} is locked; the forge takes no comments there`);
    },
    async render(step) {
      const body = fillTemplate(step.action.params.body, slotValues(step.run, []));
      const { forge_time } = await forge.repository(step.action.target);
      return { bytes: { body }, forge_time, account: await forge.self(), operation_before: null };
    },
    async perform(step, intent) {
      await requireAccount(forge, intent);
      return effectOf(
        await writer.comment(step.action.target, step.action.params.number, String(intent.rendered.body)),
      );
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
    async previewUndo(step) {
      const found = await findToUndo(step);
      if (found.length === 0) return { effect: 'nothing', message: 'the comment is gone already' };
      return {
        effect: 'undo',
        message: `delete the comment on #${step.action.params.number}; those who were notified keep their mail`,
      };
    },
    async undo(step) {
      const { target, params } = step.action;
      const found = await findToUndo(step);
      for (const { id } of found) {
        await writer.deleteComment(target, params.number, id).catch((error) => {
          if (!(error instanceof NotFound)) throw error;
        });
      }
      return {
        state: 'undone',
        message: found.length === 0 ? 'the comment is gone already' : `comment on #${params.number} deleted`,
      };
    },
  };
}

function effectOf(comment: Comment): Effect {
  return {
    succeeded: true,
    message: comment.html_url ?? `comment ${comment.id}`,
    facts: { id: comment.id, url: comment.html_url },
    vcs: null,
  };
}
