import { setTimeout } from 'node:timers/promises';
import type * as t from 'io-ts';
import { EventView, ProcessReply } from '#kit/contracts/bridge/events.ts';
import { codeOf, Failed, TimedOut } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';

/** Processes this event alone; where the bridge is at it by itself, waits for it. */
export async function planEvent(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<readonly [string, string]> {
  let event = (await takeUp(bridge, event_id, signal)) ?? (await eventOf(bridge, event_id, signal));
  while (event.state === 'processing' || (event.state === 'pending' && event.attempts === 0)) {
    await pause(signal);
    const again = event.state === 'pending' ? await takeUp(bridge, event_id, signal) : null;
    event = again ?? (await eventOf(bridge, event_id, signal));
  }
  if (event.state === 'done' && event.run_id !== null)
    return [event.run_id, `the event is done, its run is ${event.run_id}`];
  const why = event.reason === null ? '' : `: ${event.reason.message} [${event.reason.code}]`;
  throw new Failed('smoke_event_failed', `the event is ${event.state}${why}`);
}

/** @returns null where the bridge is at it already, or at another event of the issue */
async function takeUp(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<t.TypeOf<typeof EventView> | null> {
  try {
    const answered = await bridge.post('/v1/events/process-next', { event_id }, ProcessReply, { signal });
    return answered.event;
  } catch (error) {
    if (codeOf(error) === 'event_not_pending') return null;
    throw error;
  }
}

function eventOf(
  bridge: HttpClient,
  event_id: string,
  signal: AbortSignal,
): Promise<t.TypeOf<typeof EventView>> {
  return bridge.get(`/v1/events/${encodeURIComponent(event_id)}`, EventView, { signal });
}

/** A moment between two looks. @throws TimedOut (`smoke_timeout`) when the signal is aborted */
export async function pause(signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(100, undefined, { signal });
  } catch (cause) {
    throw new TimedOut('smoke_timeout', 'it did not end in time', { cause });
  }
}
