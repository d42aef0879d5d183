import { Gauge, Registry } from 'prom-client';
import type { Engine } from './engine.ts';

/** Measurements of what the engine holds. */
export function engineMetrics({ workers, functions, calls, channels }: Engine): Registry {
  const registry = new Registry();
  const values: Readonly<Record<string, readonly [help: string, value: () => number]>> = {
    bus_workers: ['Connections', () => workers.size],
    bus_functions: ['Functions that somebody provides', () => functions.size],
    bus_pending_calls: ['Calls without a result yet', () => calls.pending],
    bus_answered_calls: ['Calls that were answered since the start', () => calls.answered],
    bus_channels: ['Open channels', () => channels.size],
  };
  for (const [name, [help, value]] of Object.entries(values)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  }
  return registry;
}
