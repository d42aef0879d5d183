import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { databaseFile } from '#kit/database/open-database.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { gatewaySchema } from '../../services/model-gateway/schema.ts';
import { failure } from '../fixtures/failure.ts';
import { ledgerInFile } from '../fixtures/gateway/ledger-stores.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';
import { postgresBench, sqliteBench } from './model-ledger.benches.ts';
import { ledgerContract } from './model-ledger.contract.ts';
import { everything, spentBy, testCall, testPrices, token } from './model-ledger.scene.ts';

ledgerContract('SQLite', sqliteBench);

describeWith(['postgres'], 'in a database', () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  ledgerContract('PostgreSQL', () => postgresBench(server));
});

describe('the ledger of model calls in a file', () => {
  it('does not start on a file that is no ledger, and names it', async () => {
    const state = temporaryFolder();
    await (await ledgerInFile(state)).close();
    const path = databaseFile({ state }, gatewaySchema);
    writeFileSync(path, 'not a database, and long enough to be read as one'.repeat(100));
    for (let attempt = 1; attempt <= 2; attempt++) {
      const error = await failure(ledgerInFile(state));
      expect(error).to.have.property('code', 'ledger_damaged');
      expect(String(error)).to.contain(path);
    }
  });

  it('waits beside the event loop for a ledger that another process has locked', async () => {
    const state = temporaryFolder();
    const ledger = new Ledger(await ledgerInFile(state), { prices: testPrices, dayBudget: null });
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    await ledger.usage(everything);
    const other = new DatabaseSync(databaseFile({ state }, gatewaySchema));
    try {
      other.exec('BEGIN IMMEDIATE');
      const opened = ledger.reserve(token, testCall);
      await delay(100);
      expect((await ledger.health()).status).to.equal('ok');
      other.exec('ROLLBACK');
      const reservation = await opened;
      other.exec('BEGIN IMMEDIATE');
      reservation.settle({ ...spentBy(1), upstream: 'first' });
      const counted = ledger.usage(everything);
      await delay(100);
      expect((await ledger.health()).status).to.equal('ok');
      other.exec('ROLLBACK');
      expect((await counted)[0]!.calls).to.equal(2);
    } finally {
      other.close();
      await ledger.close();
    }
  });
});
