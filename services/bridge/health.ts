import type { Bus } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { HealthResult } from '#kit/contracts/bus/functions.ts';
import {
  type Backlog,
  backlogInWords,
  type Health,
  type HealthCheck,
  healthOf,
} from '#kit/contracts/health.ts';
import { decode } from '#kit/decode.ts';
import { messageOf, Unavailable } from '#kit/errors.ts';
import { Probe } from '#kit/health/probe.ts';
import { problemOf, type SecretFile, secretRule } from '#kit/webhooks/secret-file.ts';
import type { EventQueue } from './queue/event-queue.ts';
import type { Schedules } from './schedules/schedules.ts';
import type { Sync } from './sync/sync.ts';

export interface HealthParts {
  readonly version: string;
  /** Secrets that sign webhooks, by name. */
  readonly secrets: Readonly<Record<string, SecretFile>>;
  readonly store: Record<'queue' | 'dashboards' | 'schedules', Pick<Probe, 'check'>>;
  readonly bus: { readonly connected: boolean };
  /** Where the bus is looked for. */
  readonly busUrl: () => string;
  readonly agentd: Pick<Probe, 'check'>;
  /** Asked over the bus. */
  readonly worker: Pick<Probe, 'check'>;
}

/** What only the store knows, which may be a database. */
interface StoreParts {
  readonly queue: Pick<EventQueue, 'counts' | 'backlog' | 'problem'>;
  readonly sync: Pick<Sync, 'counts' | 'oldestMs' | 'problem'>;
  readonly schedules: Pick<Schedules, 'any' | 'state'>;
  readonly automatic: boolean;
  /** When the service began, in milliseconds since 1970. */
  readonly since: number;
  readonly now?: () => number;
}

/** The bus calls each minute; after so long without, in milliseconds, nobody does. */
const tickPatienceMs = 150_000;

/** Milliseconds for an answer of the store. */
const storeMs = 10_000;

/** Without its queue the bridge takes no event; everything else can come later. */
export async function checkHealth(parts: HealthParts): Promise<Health> {
  const { store } = parts;
  const [queue, agentd, worker, dashboards, schedules] = await Promise.all([
    store.queue.check(),
    parts.agentd.check(),
    workerCheck(parts),
    store.dashboards.check(),
    store.schedules.check(),
  ]);
  return healthOf('core-bridge', parts.version, {
    ...{ queue, agentd, bus: busCheck(parts), worker, dashboards, schedules },
    secrets: secretsCheck(parts),
  });
}

export function storeProbes(parts: StoreParts): HealthParts['store'] {
  const options = { timeoutMs: storeMs, everyMs: 0, startMs: 0 };
  return {
    queue: new Probe(() => queueCheck(parts), { ...options, required: true }),
    dashboards: new Probe(() => dashboardsCheck(parts), options),
    schedules: new Probe(() => schedulesCheck(parts), options),
  };
}

/** How much waits, and for how long the oldest of it has. */
function backlogOf(waiting: number, oldestMs: number | null): Backlog {
  return { waiting, oldest_seconds: Math.max(0, Math.round((oldestMs ?? 0) / 1000)) };
}

/** Milliseconds for which a dead event degrades the health. */
const recentMs = 24 * 3_600_000;

async function queueCheck({ queue, automatic }: StoreParts): Promise<HealthCheck> {
  if (queue.problem !== null)
    return { status: 'failing', detail: `events cannot be stored: ${messageOf(queue.problem)}` };
  const [{ pending, processing, dead }, { oldestMs, died }] = await Promise.all([
    queue.counts(),
    queue.backlog(recentMs),
  ]);
  const how = automatic ? 'processed as they come' : 'wait for process-next';
  const backlog = backlogOf(pending, oldestMs);
  const age = pending === 0 ? '' : `, the oldest for ${backlog.oldest_seconds} s`;
  const detail = `${pending} pending (${how}${age}), ${processing} processing, ${dead} dead`;
  if (died === 0) return { status: 'ok', detail, backlog };
  const said = `${detail}, ${died} of them since yesterday: ./core bridge events --state dead says why, ./core bridge retry tries again`;
  return { status: 'degraded', detail: said, backlog };
}

/** Everybody may read this: neither paths nor lengths. A secret that is not there is fine, as its sender may not be set up. */
function secretsCheck({ secrets }: HealthParts): HealthCheck {
  const broken = Object.keys(secrets).filter((name) => problemOf(secrets[name]!) !== null);
  if (broken.length === 0) return { status: 'ok', detail: 'each that is there can be used' };
  const detail = `${broken.join(', ')} cannot be used, so its webhooks are refused: ${secretRule}`;
  return { status: 'degraded', detail };
}

function busCheck({ bus, busUrl }: HealthParts): HealthCheck {
  if (bus.connected) return { status: 'ok', detail: 'connected' };
  return { status: 'degraded', detail: `not connected to ${busUrl()}: events are kept, none is planned` };
}

async function workerCheck({ bus, worker }: HealthParts): Promise<HealthCheck> {
  return bus.connected ? worker.check() : { status: 'degraded', detail: 'not asked: there is no bus' };
}

async function dashboardsCheck({ sync }: StoreParts): Promise<HealthCheck> {
  const counts = Object.entries(await sync.counts());
  if (counts.length === 0) return { status: 'ok', detail: 'none is configured' };
  const waits = counts.reduce((sum, [, { waiting }]) => sum + waiting, 0);
  const backlog = backlogOf(waits, await sync.oldestMs());
  const each = counts
    .map(([name, { waiting, dead, problem }]) => {
      const why = problem === null ? '' : ` (${problem})`;
      return `${name}: ${waiting} waiting, ${dead} given up${why}`;
    })
    .join('; ');
  const detail = `${each}; of all ${backlogInWords(backlog)}`;
  if (sync.problem !== null)
    return { status: 'degraded', detail: `runs cannot be looked at: ${sync.problem}; ${detail}`, backlog };
  const well = counts.every(([, { problem }]) => problem === null);
  return { status: well ? 'ok' : 'degraded', detail, backlog };
}

async function schedulesCheck({ schedules, since, now = Date.now }: StoreParts): Promise<HealthCheck> {
  if (!schedules.any) return { status: 'ok', detail: 'none is switched on' };
  const { silentMs, problems } = await schedules.state();
  const silent = Math.min(silentMs ?? Number.POSITIVE_INFINITY, Math.max(0, now() - since));
  if (silent > tickPatienceMs) {
    const seconds = Math.round(silent / 1000);
    return { status: 'degraded', detail: `the bus has not called for ${seconds} s: no schedule is due` };
  }
  if (problems.length > 0) return { status: 'degraded', detail: problems.join('; ') };
  return { status: 'ok', detail: 'looked at each minute' };
}

/**
 * Whether a worker takes calls and reaches what it needs for them.
 * @returns a word for people
 * @throws BusError where nobody answers, Unavailable (`worker_degraded`) where the worker says what it lacks
 */
export async function askWorker(
  bus: Pick<Bus, 'call'>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  const id = functionIds.health;
  const answer = decode(HealthResult, await bus.call(id, {}, { timeoutMs, signal }), `the result of ${id}`);
  if (!answer.ok)
    throw new Unavailable(
      'worker_degraded',
      `answers; it does not reach core-agentd: ${answer.error.message}`,
    );
  const lacks = Object.entries(answer.reaches ?? {}).filter(([, { status }]) => status !== 'ok');
  if (lacks.length === 0) return 'answers calls, and reaches what it needs';
  const missing = lacks.map(([name, { detail }]) => `${name}: ${detail}`).join('; ');
  throw new Unavailable('worker_degraded', `answers, and does not reach ${missing}`);
}
