import { Gauge, Registry } from '#kit/prometheus.ts';
import type { ActiveRecord } from './active-record.ts';

/** What several hosts with one record measure. @param active null on a standby */
export function contextMetrics(active: Pick<ActiveRecord, 'backups'> | null): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'context_active',
    help: 'Whether this core-context is the active one of its hosts (1) or a standby (0)',
    registers,
    collect() {
      this.set(active === null ? 0 : 1);
    },
  });
  new Gauge({
    name: 'context_backup_behind_seconds',
    help: 'For how long the record has held what no backup holds; 0 where all is in one',
    registers,
    collect() {
      this.set(active?.backups.state().behindSeconds ?? 0);
    },
  });
  new Gauge({
    name: 'context_backup_age_seconds',
    help: 'Time since the newest backup; the record may not have changed since',
    registers,
    collect() {
      const at = active?.backups.state().at ?? null;
      this.set(at === null ? 0 : Math.max(0, (Date.now() - at.getTime()) / 1000));
    },
  });
  return registry;
}
