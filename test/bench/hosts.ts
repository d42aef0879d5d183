import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { startPostgres } from '../fixtures/postgres.ts';
import type { Benchmark } from './comparison.ts';
import { bridgesOnHosts } from './hosts/bridges.ts';
import { budgetsOnHosts } from './hosts/budgets.ts';
import { runsOnHosts } from './hosts/runs.ts';

/** What several hosts do on one PostgreSQL, each commit durable before the next. */
export const hosts: Benchmark = {
  summary: 'several hosts on one PostgreSQL',
  async run(folder) {
    // The server runs as another user where this one is root.
    for (const path of [dirname(folder), folder]) chmodSync(path, 0o711);
    const server = await startPostgres(['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB']);
    try {
      return [
        ...(await runsOnHosts(server, folder)),
        ...(await bridgesOnHosts(server)),
        ...(await budgetsOnHosts(server)),
      ];
    } finally {
      await server.stop();
    }
  },
};
