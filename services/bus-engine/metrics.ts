import type { Registry } from 'prom-client';
import { AskedGauge } from '#kit/http/tally.ts';
import type { Engine } from './engine.ts';

/** Adds what the engine holds to the measurements of the service. */
export function measureEngine({ workers, functions, calls, channels }: Engine, registry: Registry): void {
  const values: Readonly<Record<string, readonly [help: string, value: () => number]>> = {
    bus_workers: ['Connections', () => workers.size],
    bus_functions: ['Functions that somebody provides', () => functions.size],
    bus_pending_calls: ['Calls without a result yet', () => calls.pending],
    bus_answered_calls: ['Calls that were answered since the start', () => calls.answered],
    bus_channels: ['Open channels', () => channels.size],
  };
  for (const [name, [help, value]] of Object.entries(values))
    new AskedGauge({ name, help, ask: () => [[{}, value()]] }).registerIn(registry);
}
