import { postgresPlace, sqlitePlace } from '../fixtures/bridge/storage-place.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';
import { bridgeQueueContract } from './bridge-queue.contract.ts';
import { catchUpRowsContract } from './catch-up-rows.contract.ts';
import { schedulesContract } from './schedules.contract.ts';
import { syncContract } from './sync.contract.ts';

bridgeQueueContract('a file', sqlitePlace);
schedulesContract('a file', sqlitePlace);
syncContract('a file', sqlitePlace);
catchUpRowsContract('a file', sqlitePlace);

describeWith(['postgres'], 'in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  bridgeQueueContract('a database', () => postgresPlace(server));
  schedulesContract('a database', () => postgresPlace(server));
  syncContract('a database', () => postgresPlace(server));
  catchUpRowsContract('a database', () => postgresPlace(server));
});
