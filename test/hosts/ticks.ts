import { setTimeout as pause } from 'node:timers/promises';
import { follow, type LoadParts, retryEvent } from './load.ts';
import type { Problems } from './problems.ts';
import type { Surroundings } from './surroundings.ts';

/** Runs of tasks have no issue, and neither do their branches. */
export const noIssue = Number.NaN;
const minute = 60_000;
/** A bridge looks so much before the minute that is due. */
const earlyMs = 50;

interface Tick {
  readonly event_id: string;
  readonly at: number;
  /** By the clock of the database. */
  readonly received: number;
  readonly run_id: string | null;
  readonly state: string;
}

async function ticksOf({ pair, database }: Surroundings): Promise<Tick[]> {
  const rows = await pair.ask<Record<'event_id' | 'at' | 'received' | 'run_id' | 'state', string>>(
    database,
    `SELECT event_id, occurred_at AS at, received_at AS received, run_id, state
     FROM bridge_events WHERE source = 'schedule' ORDER BY occurred_at`,
  );
  return rows.map((row) => ({ ...row, at: Number(row.at), received: Number(row.received) }));
}

/** Waits, where nothing fails any more, for the tick of a minute from now on, and completes the runs of all ticks. */
export async function endTicks(parts: LoadParts): Promise<void> {
  const now = Date.now();
  for (;;) {
    parts.client.signal.throwIfAborted();
    const ticks = await ticksOf(parts.around);
    const open = ticks.filter(({ state }) => !['done', 'skipped'].includes(state));
    const isOpen = open.length > 0;
    const states = open.map(({ event_id, state }) => `${event_id} is ${state}`);
    parts.journal.does('ticks', isOpen ? states.join(', ') : 'waiting for the tick of the next minute');
    for (const { event_id, state } of open)
      if (state === 'dead') {
        const { json } = await parts.client.anywhere('bridge', `/v1/events/${encodeURIComponent(event_id)}`);
        if (json.state === 'dead') await retryEvent(parts, event_id, json.reason);
      }
    if (ticks.some(({ at }) => at >= now) && !isOpen) break;
    await pause(1_000);
  }
  for (const { run_id } of await ticksOf(parts.around)) {
    if (run_id === null || parts.journal.runs.get(noIssue)?.has(run_id) === true) continue;
    parts.journal.isRunOf(noIssue, run_id);
    parts.journal.count(`runs of ticks: ${await follow(parts, noIssue, run_id)}`);
  }
  parts.journal.does('ticks', null);
}

/**
 * Each minute since `since` has one tick. One without was past already when the tick before it came at last, late by whatever failed: times
 * that were missed are due once.
 */
export async function tickProblems(around: Surroundings, since: number): Promise<Problems> {
  const ticks = await ticksOf(around);
  const doubled = [...Map.groupBy(ticks, ({ at }) => Math.floor(at / minute))]
    .filter(([, ones]) => ones.length > 1)
    .map(([, ones]) => ones.map(({ event_id }) => event_id).join(', '));
  const lost: string[] = [];
  let before = { at: Math.floor(since / minute) * minute, received: 0 };
  for (const tick of ticks) {
    for (let due = before.at + minute; due < tick.at; due += minute)
      if (due > before.received + earlyMs) lost.push(new Date(due).toISOString());
    before = tick;
  }
  return { 'doubled ticks': doubled, 'lost ticks': lost };
}

export async function countTicks(around: Surroundings): Promise<{ ticks: number; belated: number }> {
  const ticks = await ticksOf(around);
  return { ticks: ticks.length, belated: ticks.filter(({ at, received }) => received > at + minute).length };
}
