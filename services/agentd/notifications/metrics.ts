import { Gauge, Registry } from '#kit/prometheus.ts';
import type { NotificationQueue } from './queue.ts';

/** @param counts asked when the measurements are read */
export function createNotificationMetrics(counts: NotificationQueue['counts']): Registry {
  const registry = new Registry();
  new Gauge({
    name: 'agentd_notifications',
    help: 'Notifications in the queue; done were sent, skipped were dealt with before, dead were given up',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const [state, count] of Object.entries(await counts())) this.set({ state }, count);
    },
  });
  return registry;
}
