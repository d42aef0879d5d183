import { setTimeout as pause } from 'node:timers/promises';
import { measureDatabases, measureObjects } from '../measurements/store-metrics.ts';
import { once } from '../once.ts';
import { Counter, Histogram, measureProcess, type Registry } from '../prometheus.ts';

export interface HttpMetrics {
  /** Counts an answer. @param seconds until it began */
  observe(method: string, route: string, status: number, seconds: number): void;
  /** In the text format of Prometheus. The process is measured from the first reading on: many services are never read. */
  read(): Promise<{ readonly type: string; readonly bytes: string }>;
}

/** Milliseconds, more than the 10 between two samples of the event loop. */
const firstLagMs = 15;

/** Adds measurements of the process, of its HTTP interface and of the databases and the bucket that it uses. */
export function measureHttp(service: string, registry: Registry): HttpMetrics {
  registry.setDefaultLabels({ service });
  measureDatabases(registry);
  measureObjects(registry);
  const measured = once(async () => {
    measureProcess(registry);
    // A lag is the time between two samples, and a busy process takes late samples together: one in each of these.
    await pause(firstLagMs);
    await pause(firstLagMs);
  });
  const registers = [registry];
  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests answered',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until an answer begins',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    labelNames: ['method', 'route'],
    registers,
  });
  return {
    observe(method, route, status, seconds) {
      requests.inc({ method, route, status });
      duration.observe({ method, route }, seconds);
    },
    async read() {
      await measured();
      return { type: registry.contentType, bytes: await registry.metrics() };
    },
  };
}
