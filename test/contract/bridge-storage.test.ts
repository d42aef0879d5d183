import { postgresPlace, type StoragePlace, sqlitePlace } from '../fixtures/bridge/storage-place.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';
import { bridgeQueueContract } from './bridge-queue.contract.ts';
import { catchUpRowsContract } from './catch-up-rows.contract.ts';
import { schedulesContract } from './schedules.contract.ts';
import { syncContract } from './sync.contract.ts';

function contracts(name: string, makePlace: () => StoragePlace | Promise<StoragePlace>): void {
  for (const contract of [bridgeQueueContract, schedulesContract, syncContract, catchUpRowsContract])
    contract(name, makePlace);
}

contracts('a file', sqlitePlace);

describeWith(['postgres'], 'in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  contracts('a database', () => postgresPlace(server));
});
