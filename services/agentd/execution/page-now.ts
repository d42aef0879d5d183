import type { ReadApprovals } from '../approval/current.ts';
import type { RunSummary } from '../runs/run.ts';
import { type RunPage, type RunStore, readableRun } from '../runs/run-store.ts';
import { isUnread, waitsNow } from '../runs/what-is-open.ts';
import { judgedRun } from './judged-run.ts';

const open: readonly RunSummary['status'][] = [
  'awaiting_approval',
  'partially_completed',
  'failed',
  'interrupted',
];

/** True if the run may have approved, open actions, so that more actions may wait than its record says. */
export function mayLapse({ status, actions, waiting }: RunSummary): boolean {
  return open.includes(status) && waiting < actions;
}

/** Page of runs with the actions that wait as approvals count now. A run that was removed or cannot be read stays as listed. */
export async function pageNow(
  store: Pick<RunStore, 'read'>,
  page: RunPage,
  read: ReadApprovals,
): Promise<RunPage> {
  const runs: RunSummary[] = [];
  const unread = new Set<string>();
  for (const summary of page.runs) {
    const run = mayLapse(summary) ? await readableRun(store, summary.run_id) : null;
    if (run === null) {
      runs.push(summary);
      continue;
    }
    const judged = judgedRun(run, read);
    runs.push({ ...summary, ...waitsNow(judged, new Date()) });
    for (const action of judged.actions) if (isUnread(action)) unread.add(action.approval_problem!.message);
  }
  return { ...page, runs, problems: [...page.problems, ...unread] };
}
