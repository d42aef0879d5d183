import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { PlanningInput } from './planner.ts';

/** Why people rejected earlier proposals for the same issue; the next planning is shown it. */
export async function earlierRejections(store: RunStore, run: Run): Promise<PlanningInput['rejections']> {
  const { forge, owner, repo, number } = run.request;
  const page = await store.list({ limit: 20, forge, owner, repo, number });
  const rejections: { at: string; by: string; action: string; reason: string }[] = [];
  for (const { run_id } of page.runs) {
    if (run_id === run.run_id) continue;
    const earlier = await store.read(run_id);
    for (const { approval, decision, definition } of earlier.actions) {
      if (approval !== 'rejected' || decision?.reason == null) continue;
      rejections.push({
        at: decision.at,
        by: decision.approver,
        action: definition.kind,
        reason: decision.reason,
      });
    }
  }
  return rejections;
}
