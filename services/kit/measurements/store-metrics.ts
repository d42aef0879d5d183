import { Gauge, Histogram, type Registry } from '../prometheus.ts';
import {
  type DatabaseCall,
  databaseCalls,
  type ObjectRequest,
  objectRequests,
  openPools,
} from './store-calls.ts';

let databases: ReturnType<typeof beginDatabases> | null = null;
let objects: Histogram | null = null;

/** Adds measurements of the databases that this process uses, as they are from the first call on. */
export function measureDatabases(registry: Registry): void {
  databases ??= beginDatabases();
  for (const metric of databases) registry.registerMetric(metric);
}

/** Adds measurements of the bucket that this process uses, from the first call on. */
export function measureObjects(registry: Registry): void {
  objects ??= beginObjects();
  registry.registerMetric(objects);
}

function beginDatabases() {
  const registers: Registry[] = [];
  const seconds = new Histogram({
    name: 'database_seconds',
    help: 'Time of a query or transaction in PostgreSQL, waiting for a connection included',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    labelNames: ['pool', 'operation', 'outcome'],
    registers,
  });
  databaseCalls.subscribe((message) => {
    const { seconds: took, ...labels } = message as DatabaseCall;
    seconds.observe(labels, took);
  });
  const connections = new Gauge({
    name: 'database_connections',
    help: 'Open connections of a pool, at work (used) or free (idle)',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { pool, totalCount, idleCount } of openPools) {
        this.inc({ pool, state: 'used' }, totalCount - idleCount);
        this.inc({ pool, state: 'idle' }, idleCount);
      }
    },
  });
  const most = new Gauge({
    name: 'database_connections_max',
    help: 'Connections that a pool may open',
    labelNames: ['pool'],
    registers,
    collect() {
      this.reset();
      for (const { pool, max } of openPools) this.inc({ pool }, max);
    },
  });
  const waiting = new Gauge({
    name: 'database_waiting',
    help: 'Queries and transactions that wait for a connection of a pool',
    labelNames: ['pool'],
    registers,
    collect() {
      this.reset();
      for (const { pool, waitingCount } of openPools) this.inc({ pool }, waitingCount);
    },
  });
  const notified = new Gauge({
    name: 'database_notified',
    help: 'Whether changes that other processes make are notified (1) or looked for (0), while anything is followed',
    labelNames: ['pool'],
    registers,
    collect() {
      this.reset();
      for (const { pool, notified: arrive } of openPools)
        if (arrive !== null) this.set({ pool }, arrive ? 1 : 0);
    },
  });
  return [seconds, connections, most, waiting, notified] as const;
}

function beginObjects(): Histogram {
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
