import { Histogram, type Registry } from '../prometheus.ts';
import { type ObjectRequest, objectRequests } from './object-requests.ts';

let metric: Histogram | null = null;

/** Adds measurements of the bucket that this process uses, from the first call on. */
export function measureObjects(registry: Registry): void {
  metric ??= begin();
  registry.registerMetric(metric);
}

function begin(): Histogram {
  const seconds = new Histogram({
    name: 'objects_seconds',
    help: 'Time until the bucket begins to answer a request',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    labelNames: ['operation', 'outcome'],
    registers: [],
  });
  objectRequests.subscribe((message) => {
    const { seconds: took, ...labels } = message as ObjectRequest;
    seconds.observe(labels, took);
  });
  return seconds as Histogram;
}
