import { Counter, collectDefaultMetrics, Histogram, type Registry } from 'prom-client';

/** Counts an answer. @param seconds until it began */
export type ObserveAnswer = (method: string, route: string, status: number, seconds: number) => void;

/** Adds measurements of the process and of its HTTP interface. */
export function measureHttp(service: string, registry: Registry): ObserveAnswer {
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
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
  return (method, route, status, seconds) => {
    requests.inc({ method, route, status });
    duration.observe({ method, route }, seconds);
  };
}
