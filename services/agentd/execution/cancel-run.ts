import { Conflict } from '#kit/errors.ts';
import type { Person } from '../agent.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';

/**
 * Asks a run to stop. A run at work aborts its model and its sandbox, lets a started effect finish, and ends; one that waits
 * is cancelled at once.
 */
export async function cancelRun(
  store: RunStore,
  request: { readonly run_id: string; readonly by: Person; readonly reason: string | null },
): Promise<Run> {
  const run = await store.append(request.run_id, (now) => {
    if (closed.includes(now.status)) {
      throw new Conflict('run_closed', `run ${now.run_id} is ${now.status}; there is nothing to cancel`);
    }
    if (now.undo !== null)
      throw new Conflict('run_undone', `the undo of run ${now.run_id} has begun; let it finish`);
    if (now.cancelling) return [];
    const atWork = now.status === 'planning' || now.status === 'executing';
    const asked = {
      type: 'cancel_requested' as const,
      data: { by: request.by.name, reason: request.reason },
    };
    if (atWork) return [asked];
    return [
      asked,
      { type: 'run_cancelled', data: { message: request.reason ?? `cancelled by ${request.by.name}` } },
    ];
  });
  await store.writeViews(request.run_id);
  return run;
}

const closed: readonly string[] = ['completed', 'cancelled', 'undone', 'rejected', 'superseded'];
