import type { JobTable } from '#kit/jobs/durable-queue.ts';

/** Events as jobs: one event of an issue is planned at a time; a run that failed is not joined by an event that is revived. */
export function eventTable(name: string): JobTable {
  return {
    name,
    ready: `target NOT IN (SELECT target FROM ${name} WHERE state = 'processing')`,
    dueIndex: `${name}_due`,
    revived: 'generation = generation + CASE WHEN run_id IS NULL THEN 0 ELSE 1 END, run_id = NULL',
  };
}

/** Deliveries as jobs: the states of one run reach a dashboard in order. */
export function deliveryTable(name: string): JobTable {
  return {
    name,
    ready: `NOT EXISTS (
      SELECT 1 FROM ${name} AS before WHERE before.dashboard = job.dashboard AND before.run_id = job.run_id
        AND before.state IN ('pending', 'processing') AND before.seq < job.seq)`,
    dueIndex: `${name}_due`,
  };
}
