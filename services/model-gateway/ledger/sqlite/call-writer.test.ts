import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { migrate } from '#kit/storage/database.ts';
import { until } from '../../../../test/fixtures/until.ts';
import { CallWriter, notRecorded } from './call-writer.ts';
import { type EndedCall, LedgerTables, ledgerKind, type OpenCall } from './tables.ts';

const account = { key: 'token:me', run: null, models: null, budget: null };

function openCall(id: number): OpenCall {
  return { id, account, model: 'large', upstream: 'first', inputTokens: 1, outputTokens: 1, reserved: 2 };
}

function endOf(id: number): EndedCall {
  return {
    ...{ id, run: null, day: '2026-11-22', upstream: 'first', state: 'done', estimated: false, cost: 2 },
    ...{ usage: { input: 1, output: 1, cached: 0, cache_writes: 0 }, sentBytes: 1, ms: 1, firstTokenMs: 1 },
  };
}

const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
const busy = Object.assign(new Error('database is locked'), { errcode: 5 });

/** Tables that can be written only while there is no trouble. */
class TroubledTables extends LedgerTables {
  trouble: Error | null = null;
  ends = 0;

  override open(call: OpenCall): void {
    this.#check();
    super.open(call);
  }

  override end(call: EndedCall): void {
    this.#check();
    this.ends++;
    super.end(call);
  }

  override probe(): void {
    this.#check();
  }

  #check(): void {
    if (this.trouble !== null) throw this.trouble;
  }
}

describe('Writing calls', () => {
  let tables: TroubledTables;
  let calls: CallWriter;
  beforeEach(async () => {
    const db = new DatabaseSync(':memory:');
    migrate(db, ledgerKind);
    tables = new TroubledTables(db);
    calls = new CallWriter(db, tables);
    for (const id of [1, 2]) await calls.open(openCall(id));
  });
  afterEach(() => calls.close());

  const counted = () =>
    tables.usage({ by: 'day', from: null, to: null, run: null }).map((line) => [line.calls, line.cost]);

  it('reports when what kept it from writing is over, though nobody calls', async () => {
    tables.trouble = full;
    const refused = await calls.open(openCall(3)).catch((error) => error);
    expect(notRecorded(refused).message).to.contain('its disk is full');
    expect(calls.problem).to.equal(full);
    tables.trouble = null;
    await until('the end of the problem', () => calls.problem === null);
    calls.end(endOf(1));
    await calls.flush();
    expect(counted()).to.deep.equal([[1, 0.000_002]]);
  });

  it('keeps what ended until it can be written, without being asked', async () => {
    tables.trouble = full;
    calls.end(endOf(1));
    calls.end(endOf(2));
    expect(calls.unwritten).to.have.length(2);
    await until('the problem', () => calls.problem !== null);
    tables.trouble = null;
    await until('the writing', () => calls.unwritten.length === 0);
    expect(counted()).to.deep.equal([[2, 0.000_004]]);
  });

  it('counts an end once, however often it is written', async () => {
    calls.end(endOf(1));
    calls.end(endOf(2));
    await Promise.all([calls.flush(), calls.flush(), calls.open(openCall(3))]);
    calls.end(endOf(1));
    await calls.flush();
    expect(counted()).to.deep.equal([[2, 0.000_004]]);
  });

  it('writes an end once in a commit that many calls share', async () => {
    calls.end(endOf(1));
    calls.end(endOf(2));
    await Promise.all([calls.open(openCall(3)), calls.open(openCall(4)), calls.flush()]);
    expect(tables.ends).to.equal(2);
    expect(calls.unwritten).to.deep.equal([]);
  });

  it('takes a lock of another process for a problem only when it lasts', async () => {
    tables.trouble = busy;
    calls.end(endOf(1));
    const opened = calls.open(openCall(3));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls.problem).to.equal(null);
    tables.trouble = null;
    await opened;
    expect(counted()).to.deep.equal([[1, 0.000_002]]);
  });

  it('names a lock, and says what to do about it', () => {
    const { message, hint } = notRecorded(busy);
    expect(message).to.contain('another process has the ledger locked');
    expect(hint).to.contain('ledger.sqlite').and.not.contain('room');
  });
});
