import { Counter, Gauge, Histogram, Registry } from '#kit/prometheus.ts';
import type { AcceptedEvent } from './queue/accept-event.ts';
import type { EventQueue } from './queue/event-queue.ts';

export interface BridgeMetrics {
  readonly registry: Registry;
  stored(accepted: AcceptedEvent): void;
  attempted(outcome: string, seconds: number): void;
  delivered(dashboard: string, outcome: string): void;
}

/** @param counts asked when the measurements are read */
export function createBridgeMetrics(counts: EventQueue['counts']): BridgeMetrics {
  const registry = new Registry();
  const registers = [registry];
  const received = new Counter({
    name: 'bridge_events_received_total',
    help: 'Events that were taken, by what they were stored as; duplicate where they had been here before',
    labelNames: ['source', 'stored'],
    registers,
  });
  const attempts = new Counter({
    name: 'bridge_planning_attempts_total',
    help: 'Attempts to have an event planned',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'bridge_planning_seconds',
    help: 'Time of an attempt',
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1200],
    registers,
  });
  const deliveries = new Counter({
    name: 'bridge_deliveries_total',
    help: 'Attempts to report the state of a run to a dashboard',
    labelNames: ['dashboard', 'outcome'],
    registers,
  });
  new Gauge({
    name: 'bridge_events',
    help: 'Events in the queue',
    labelNames: ['state'],
    registers,
    async collect() {
      for (const [state, count] of Object.entries(await counts())) this.set({ state }, count);
    },
  });
  return {
    registry,
    stored: ({ event, duplicate }) =>
      received.inc({ source: event.source, stored: duplicate ? 'duplicate' : event.state }),
    attempted(outcome, took) {
      attempts.inc({ outcome });
      seconds.observe(took);
    },
    delivered: (dashboard, outcome) => deliveries.inc({ dashboard, outcome }),
  };
}
