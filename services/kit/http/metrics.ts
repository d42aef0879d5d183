import { collectDefaultMetrics, Registry } from 'prom-client';
import { type CounterTally, type HistogramTally, TallyHistogram, tallyCounter } from './tally.ts';

export interface HttpMetrics {
  readonly registry: Registry;
  /** @param seconds until the answer began */
  observe(method: string, route: string, status: number, seconds: number): void;
}

export function createHttpMetrics(service: string): HttpMetrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const requests = tallyCounter({
    name: 'http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const duration = new TallyHistogram({
    name: 'http_request_duration_seconds',
    help: 'Time until an answer begins',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  });
  duration.registerIn(registry);
  const answered = new Map<string, CounterTally>();
  const took = new Map<string, HistogramTally>();

  return {
    registry,
    observe(method, route, status, seconds) {
      const way = `${method} ${route}`;
      const own = `${way} ${status}`;
      const count = answered.get(own) ?? requests.of({ method, route, status });
      answered.set(own, count);
      count.add(1);
      const times = took.get(way) ?? duration.of({ method, route });
      took.set(way, times);
      times.observe(seconds);
    },
  };
}
