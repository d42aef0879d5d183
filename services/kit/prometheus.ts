import { createRequire } from 'node:module';
import type * as prometheus from 'prom-client';

/** The package in parts: its index also loads OpenTelemetry, clusters and summaries, 35 ms of processor time in each service. */
const part = createRequire(import.meta.url);

export const Counter: typeof prometheus.Counter = part('prom-client/lib/counter.js');
export const Gauge: typeof prometheus.Gauge = part('prom-client/lib/gauge.js');
export const Histogram: typeof prometheus.Histogram = part('prom-client/lib/histogram.js');
export const Registry: typeof prometheus.Registry = part('prom-client/lib/registry.js');
export type Registry = prometheus.Registry;
export type Histogram = prometheus.Histogram;

/** Adds memory, processor, open files and event loop of this process, measured from now on. */
export function measureProcess(registry: Registry): void {
  const collect: typeof prometheus.collectDefaultMetrics = part('prom-client/lib/defaultMetrics.js');
  collect({ register: registry });
}
