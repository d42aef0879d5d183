import { codeOf } from '#kit/errors.ts';
import type { ReadApprovals } from '../approval/current.ts';
import { isOpen, type Run, type RunSummary } from '../runs/run.ts';
import type { RunPage } from '../runs/run-store.ts';
import { isUnread, waitsNow } from '../runs/what-is-open.ts';
import { judgedRun } from './judged-run.ts';

const open: readonly RunSummary['status'][] = [
  'awaiting_approval',
  'partially_completed',
  'failed',
  'interrupted',
];

/** Whether something of it is approved and not executed, so that more may wait now than its record says. */
export function mayLapse({ status, actions, waiting }: RunSummary): boolean {
  return open.includes(status) && waiting < actions;
}

/** What waits in a page of runs as approvals count now. A run that went, or cannot be read, stays as it was listed. */
export async function pageNow(
  store: { read(runId: string): Promise<Run> },
  page: RunPage,
  read: ReadApprovals,
): Promise<RunPage> {
  const runs: RunSummary[] = [];
  const unread = new Set<string>();
  for (const summary of page.runs) {
    const run = mayLapse(summary) ? await readable(store, summary.run_id) : null;
    if (run === null) {
      runs.push(summary);
      continue;
    }
    const judged = judgedRun(run, read);
    runs.push({ ...summary, ...waitsNow(judged, new Date()) });
    for (const action of judged.actions)
      if (isOpen(action) && isUnread(action)) unread.add(action.approval_problem!.message);
  }
  return { ...page, runs, problems: [...page.problems, ...unread] };
}

async function readable(store: { read(runId: string): Promise<Run> }, runId: string): Promise<Run | null> {
  try {
    return await store.read(runId);
  } catch (error) {
    if (['run_not_found', 'record_cut', 'record_damaged'].includes(codeOf(error))) return null;
    throw error;
  }
}
