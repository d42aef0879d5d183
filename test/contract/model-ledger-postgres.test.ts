import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';
import { postgresBench } from './model-ledger.benches.ts';
import { ledgerContract } from './model-ledger.contract.ts';

describeWith(['postgres'], 'in a database', () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  ledgerContract('PostgreSQL', () => postgresBench(server));
});
