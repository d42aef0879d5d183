import { messageOf } from '#kit/errors.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Context } from './context.ts';
import type { ContextPassage, PlanningInput } from './planner.ts';
import type { Sources } from './read-sources.ts';

export interface GatheredContext {
  readonly passages: readonly ContextPassage[];
  /** Why there is less than there could be. */
  readonly notices: readonly string[];
}

/** Asks the context service; without it planning goes on and says so. */
export async function gatherContext(
  context: Context | null,
  { issue, repository }: Sources,
  signal: AbortSignal,
): Promise<GatheredContext> {
  if (context === null) return { passages: [], notices: [] };
  const name = `${repository.owner}/${repository.repo}`;
  const query = `${issue.title}\n${issue.body}`.slice(0, 2000);
  try {
    const found = await Promise.all([
      context.search(query, name, 10, signal),
      context.lookup(query, 'procedural', 3, signal),
      context.lookup(query, 'episodic', 3, signal),
      context.lookup(query, 'semantic', 3, signal),
    ]);
    return { passages: found.flat(), notices: [] };
  } catch (error) {
    signal.throwIfAborted();
    return { passages: [], notices: [`planned without the context service (${messageOf(error)})`] };
  }
}

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
