import { codeOf, messageOf } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { Forge } from '../ports/forge.ts';
import type { NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';

/** Returns changes of the issue after planning, as text; null if there are none, and for a task. */
export type LookAtIssue = (run: Run, signal: AbortSignal) => Promise<string | null>;

/** @throws the errors of forges, except for an issue that is gone: that is one of the changes */
export async function lookAtIssue(
  forge: Pick<Forge, 'issue'>,
  run: Run,
  signal: AbortSignal,
): Promise<string | null> {
  const { number } = run.request;
  if (number === null || run.plan === null) return null;
  const name = subjectOf(run.request);
  try {
    const { state, locked } = await forge.issue(run.plan.target, number, signal);
    const before = run.issue?.state ?? 'open';
    const changes = [
      ...(state === before ? [] : [state === 'closed' ? 'closed' : 'opened again']),
      ...(locked ? ['locked'] : []),
    ];
    return changes.length === 0 ? null : `${name} was ${changes.join(' and ')} after planning`;
  } catch (error) {
    // Deleted, moved to another repository, or made a pull request or a discussion.
    if (['issue_not_found', 'issue_is_pull_request'].includes(codeOf(error) ?? ''))
      return `${name} is gone: ${messageOf(error)}`;
    throw error;
  }
}

/** The event for what was seen; none where that is known. */
export function issueEvents({ issue_changed }: Run, changed: string | null): NewEvent[] {
  return changed === issue_changed ? [] : [{ type: 'issue_seen', data: { changed } }];
}
