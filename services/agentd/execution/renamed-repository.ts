import { CoreError } from '#kit/errors.ts';
import type { DataOf, NewEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';

/** The name that the forge has for the repository of a planned run now. */
export type LookAtName = (run: Run, signal?: AbortSignal) => Promise<DataOf<'repository_seen'>>;

/** The event for the name that was seen; none where that is known. */
export function nameEvents(run: Run, { owner, repo }: DataOf<'repository_seen'>): NewEvent[] {
  const known = run.renamed ?? run.plan?.target ?? run.request;
  if (known.owner === owner && known.repo === repo) return [];
  return [{ type: 'repository_seen', data: { owner, repo } }];
}

/** Records a new name. A forge that does not answer, or no longer has the repository, leaves the run as it was. */
export async function recordName(
  store: Pick<RunStore, 'append' | 'writeViews'>,
  lookAtName: LookAtName,
  run: Run,
  signal?: AbortSignal,
): Promise<Run> {
  try {
    const seen = await lookAtName(run, signal);
    if (nameEvents(run, seen).length === 0) return run;
    const after = await store.append(run.run_id, (now) => nameEvents(now, seen));
    await store.writeViews(run.run_id);
    return after;
  } catch (error) {
    if (error instanceof CoreError) return run;
    throw error;
  }
}
