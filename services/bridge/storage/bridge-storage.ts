import type { JobRows } from '#kit/jobs/durable-queue.ts';
import type { EventRows } from '../queue/event-rows.ts';
import type { Removal } from '../queue/pruning.ts';
import type { ScheduleRows } from '../schedules/schedule-rows.ts';
import type { CatchUpRows } from '../sync/catch-up.ts';
import type { DeliveryRows } from '../sync/outbox.ts';

/** Everything that the bridge keeps. */
export interface BridgeStorage {
  readonly events: EventRows;
  readonly eventJobs: JobRows;
  readonly deliveries: DeliveryRows;
  readonly deliveryJobs: JobRows;
  readonly schedules: ScheduleRows;
  readonly catchUps: CatchUpRows;
  /** So often, in milliseconds, there may be an event of which this process was not notified. */
  readonly lookMs: number;
  /** @returns how many rows went */
  prune(removal: Removal): Promise<number>;
  close(): Promise<void>;
}
