import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { ledgerFolder, openSqliteStore } from '../../services/model-gateway/ledger/sqlite/store.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { readLedgerFile, sqliteBench } from './model-ledger.benches.ts';
import { ledgerContract } from './model-ledger.contract.ts';
import {
  everything,
  reservedForTestCall,
  spentBy,
  testCall,
  testPrices,
  token,
} from './model-ledger.scene.ts';

ledgerContract('SQLite', sqliteBench);

describe('the ledger of model calls in a file', () => {
  let state: string;
  let ledger: Ledger;
  let time: number;
  beforeEach(() => {
    state = temporaryFolder();
    time = Date.parse('2026-11-22T12:00:00Z');
    ledger = open();
  });
  afterEach(() => ledger.close());

  function open(): Ledger {
    return new Ledger(
      openSqliteStore(state, () => time),
      { prices: testPrices, dayBudget: null },
    );
  }

  it('gives rising ids when the clock goes back, so that no call is lost', async () => {
    for (const step of [0, -3_600_000, 5, -1]) {
      time += step;
      (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    }
    await ledger.close();
    ledger = open();
    time -= 7_200_000;
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    await ledger.close();
    expect(readLedgerFile(state).calls).to.have.length(5);
    ledger = open();
  });

  it('counts calls that an earlier version left under way in its table', async () => {
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(1), upstream: 'first' });
    await ledger.close();
    const db = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'));
    db.exec(`ALTER TABLE calls DROP COLUMN contradictory; ALTER TABLE totals DROP COLUMN contradictory;
      PRAGMA user_version = 1; INSERT INTO calls SELECT call + 5, account, model, upstream, 0, 1000, 500, 0, 0, 1,
      ${reservedForTestCall}, 0, 0, NULL FROM calls`);
    db.close();
    ledger = open();
    expect((await ledger.health()).detail).to.contain('1 cut off');
    const [row] = await ledger.usage(everything);
    expect(row).to.include({ calls: 2, unsettled: 1, output_tokens: 501 });
    await ledger.close();
    ledger = open();
    expect((await ledger.health()).detail).to.equal('0 calls under way');
  });

  it('does not start on a file that is no ledger, and names it', async () => {
    await ledger.close();
    const other = temporaryFolder();
    await openSqliteStore(other).close();
    const path = join(ledgerFolder(other), 'ledger.sqlite');
    writeFileSync(path, 'not a database, and long enough to be read as one'.repeat(100));
    expect(() => openSqliteStore(other))
      .to.throw(CoreError, path)
      .with.property('code', 'ledger_damaged');
    ledger = open();
  });

  it('wait beside the event loop for a ledger that another process has locked', async () => {
    const other = new DatabaseSync(join(ledgerFolder(state), 'ledger.sqlite'));
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
      expect((await counted)[0]!.calls).to.equal(1);
    } finally {
      other.close();
    }
  });
});
