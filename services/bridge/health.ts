import type { Health } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { EventQueue } from './queue/event-queue.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { Sync } from './sync/sync.ts';

export interface HealthParts {
  readonly version: string;
  readonly queue: Pick<EventQueue, 'counts' | 'diedSince' | 'problem'>;
  readonly bus: { readonly connected: boolean };
  /** Where the bus is looked for. */
  readonly busUrl: () => string;
  readonly sync: Pick<Sync, 'counts' | 'problem'>;
  readonly schedules: Pick<Schedules, 'any' | 'lastTick' | 'problems'>;
  readonly automatic: boolean;
  /** When the service began, in milliseconds since 1970. */
  readonly since: number;
  readonly now?: () => number;
}

type Found = Health['checks'][string];

/** The bus calls each minute; after so long without, in milliseconds, nobody does. */
const tickPatienceMs = 150_000;

/** Without its queue the bridge takes no event; everything else can come later. */
export function checkHealth(parts: HealthParts): Health {
  const checks: Record<string, Found> = {
    queue: queueCheck(parts),
    bus: busCheck(parts),
    dashboards: dashboardsCheck(parts.sync),
    schedules: schedulesCheck(parts),
  };
  const statuses = Object.values(checks).map(({ status }) => status);
  const status = statuses.includes('failing') ? 'failing' : statuses.includes('degraded') ? 'degraded' : 'ok';
  return { status, service: 'core-bridge', version: parts.version, checks };
}

/** For so long, in milliseconds, a dead event is news. */
const newsMs = 24 * 3_600_000;

function queueCheck({ queue, automatic, now = Date.now }: HealthParts): Found {
  if (queue.problem !== null)
    return { status: 'failing', detail: `events cannot be stored: ${messageOf(queue.problem)}` };
  try {
    const { pending, processing, dead } = queue.counts();
    const how = automatic ? 'processed as they come' : 'wait for process-next';
    const detail = `${pending} pending (${how}), ${processing} processing, ${dead} dead`;
    const died = queue.diedSince(now() - newsMs);
    if (died === 0) return { status: 'ok', detail };
    const said = `${detail}, ${died} of them since yesterday: ./core bridge events --state dead says why, ./core bridge retry tries again`;
    return { status: 'degraded', detail: said };
  } catch (error) {
    return { status: 'failing', detail: messageOf(error) };
  }
}

function busCheck({ bus, busUrl }: HealthParts): Found {
  if (bus.connected) return { status: 'ok', detail: 'connected' };
  return { status: 'degraded', detail: `not connected to ${busUrl()}: events are kept, none is planned` };
}

function dashboardsCheck(sync: HealthParts['sync']): Found {
  const counts = Object.entries(sync.counts());
  if (counts.length === 0) return { status: 'ok', detail: 'none is configured' };
  const detail = counts
    .map(([name, { waiting, dead, problem }]) => {
      const why = problem === null ? '' : ` (${problem})`;
      return `${name}: ${waiting} waiting, ${dead} given up${why}`;
    })
    .join('; ');
  if (sync.problem !== null)
    return { status: 'degraded', detail: `runs cannot be looked at: ${sync.problem}; ${detail}` };
  const well = counts.every(([, { problem }]) => problem === null);
  return { status: well ? 'ok' : 'degraded', detail };
}

function schedulesCheck({ schedules, since, now = Date.now }: HealthParts): Found {
  if (!schedules.any) return { status: 'ok', detail: 'none is switched on' };
  const last = schedules.lastTick ?? since;
  if (now() - last > tickPatienceMs) {
    return {
      status: 'degraded',
      detail: `the bus has not called since ${new Date(last).toISOString()}: no schedule is due`,
    };
  }
  const problems = schedules.problems();
  if (problems.length > 0) return { status: 'degraded', detail: problems.join('; ') };
  return { status: 'ok', detail: 'looked at each minute' };
}
