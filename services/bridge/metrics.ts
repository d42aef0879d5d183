import type { Registry } from 'prom-client';
import { AskedGauge, TallyCounter, TallyHistogram } from '#kit/http/tally.ts';
import type { AcceptedEvent } from './queue/accept-event.ts';
import type { EventQueue } from './queue/event-queue.ts';

export interface BridgeMetrics {
  /** Adds the measurements to those of the server. */
  register(registry: Registry): void;
  stored(accepted: AcceptedEvent): void;
  attempted(outcome: string, seconds: number): void;
  delivered(dashboard: string, outcome: string): void;
}

/** @param counts asked when the measurements are read */
export function createBridgeMetrics(counts: EventQueue['counts']): BridgeMetrics {
  const received = new TallyCounter({
    name: 'bridge_events_received_total',
    help: 'Events that were taken, by what they were stored as; duplicate where they had been here before',
  });
  const attempts = new TallyCounter({
    name: 'bridge_planning_attempts_total',
    help: 'Attempts to have an event planned',
  });
  const seconds = new TallyHistogram({
    name: 'bridge_planning_seconds',
    help: 'Time of an attempt',
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1200],
  });
  const deliveries = new TallyCounter({
    name: 'bridge_deliveries_total',
    help: 'Attempts to tell a dashboard the state of a run',
  });
  const events = new AskedGauge({
    name: 'bridge_events',
    help: 'Events in the queue',
    ask: () => Object.entries(counts()).map(([state, count]) => [{ state }, count]),
  });
  const took = seconds.of({});
  return {
    register(registry) {
      for (const metric of [received, attempts, seconds, deliveries, events]) metric.registerIn(registry);
    },
    stored: ({ event, duplicate }) =>
      received.add({ source: event.source, stored: duplicate ? 'duplicate' : event.state }),
    attempted(outcome, seconds) {
      attempts.add({ outcome });
      took.observe(seconds);
    },
    delivered: (dashboard, outcome) => deliveries.add({ dashboard, outcome }),
  };
}
