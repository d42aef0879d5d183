import { postgresPlace, sqlitePlace } from '../fixtures/bridge/storage-place.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';
import { bridgeQueueContract } from './bridge-queue.contract.ts';
import { schedulesContract } from './schedules.contract.ts';

bridgeQueueContract('a file', sqlitePlace);
schedulesContract('a file', sqlitePlace);

describeWith(['postgres'], 'in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  bridgeQueueContract('a database', () => postgresPlace(server));
  schedulesContract('a database', () => postgresPlace(server));
});
