import type { Registry } from 'prom-client';
import { type CounterTally, type HistogramTally, TallyCounter, TallyHistogram } from './tally.ts';

export interface HttpMetrics {
  /** Loads prom-client, and measures this process from now on. */
  registry(): Promise<Registry>;
  /** @param seconds until the answer began */
  observe(method: string, route: string, status: number, seconds: number): void;
}

/** @param measure adds measurements of the service's own, once */
export function createHttpMetrics(
  service: string,
  measure: (registry: Registry) => void = () => {},
): HttpMetrics {
  const requests = new TallyCounter({ name: 'http_requests_total', help: 'Requests answered' });
  const duration = new TallyHistogram({
    name: 'http_request_duration_seconds',
    help: 'Time until an answer begins',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  });
  const byRoute = new Map<string, Map<string, RouteTallies>>();
  let opened: Promise<Registry> | null = null;

  async function open(): Promise<Registry> {
    const { collectDefaultMetrics, Registry } = await import('prom-client');
    const registry = new Registry();
    registry.setDefaultLabels({ service });
    collectDefaultMetrics({ register: registry });
    requests.registerIn(registry);
    duration.registerIn(registry);
    measure(registry);
    return registry;
  }

  function talliesOf(method: string, route: string): RouteTallies {
    const methods = byRoute.get(route) ?? new Map<string, RouteTallies>();
    const known = methods.get(method);
    if (known !== undefined) return known;
    const made = { answered: new Map<number, CounterTally>(), took: duration.of({ method, route }) };
    byRoute.set(route, methods.set(method, made));
    return made;
  }

  return {
    registry() {
      opened ??= open();
      return opened;
    },
    observe(method, route, status, seconds) {
      const { answered, took } = talliesOf(method, route);
      let count = answered.get(status);
      if (count === undefined) {
        count = requests.of({ method, route, status });
        answered.set(status, count);
      }
      count.add(1);
      took.observe(seconds);
    },
  };
}

interface RouteTallies {
  /** By status. */
  readonly answered: Map<number, CounterTally>;
  readonly took: HistogramTally;
}
