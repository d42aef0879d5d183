import { minimatch } from 'minimatch';
import type { InboxItem, InboxKind } from '#kit/contracts/inbox.ts';
import { subjectOf } from '#kit/contracts/run.ts';
import type { Reader } from '../inbox/read-inbox.ts';
import type { Run } from '../runs/run.ts';
import type { NotificationEvent, NotifiedPerson } from './configuration.ts';
import type { Notice } from './notice.ts';

/** null where nobody is notified: people see it in their inbox. */
const eventOf: Readonly<Record<InboxKind, NotificationEvent | null>> = {
  approval: 'waits_for_you',
  lapsed: 'waits_for_you',
  execution: null,
  validation: 'validation_failed',
  outcome: 'execution_stopped',
  interrupted: 'execution_stopped',
  draft: 'planning_failed',
  planning: 'planning_failed',
};

/** What one person is notified of about a run. @param reader who they are */
export function noticesFor(
  run: Run,
  items: readonly InboxItem[],
  { events, repositories }: NotifiedPerson,
  reader: Pick<Reader, 'waits'>,
): Notice[] {
  const { owner, repo } = run.request;
  if (repositories?.every((glob) => !minimatch(`${owner}/${repo}`, glob, { nocase: true, dot: true })))
    return [];
  const about = { run_id: run.run_id, subject: subjectOf(run.request), title: run.issue?.title ?? null };
  const found = items.flatMap((item): Notice[] => {
    const event = eventOf[item.kind];
    if (event === null || (event === 'waits_for_you' && !reader.waits(item))) return [];
    return [{ ...about, id: item.id, event, at: item.since, text: item.text }];
  });
  const pull = run.pull_request;
  if (pull?.state === 'merged') {
    const text = `pull request ${pull.number} was merged`;
    found.push({ ...about, id: `${run.run_id} merged`, event: 'merged', at: pull.at, text });
  }
  return found.filter(({ event }) => events === undefined || events.includes(event));
}
