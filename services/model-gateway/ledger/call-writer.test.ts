import { expect } from 'chai';
import { until } from '../../../test/fixtures/until.ts';
import type { EndedCall, OpenCall } from './call-rows.ts';
import { CallWriter } from './call-writer.ts';
import { notRecorded } from './storage-error.ts';

const account = { key: 'token:me', run: null, models: null, budget: null };
const open: OpenCall = {
  id: 1,
  account,
  model: 'large',
  upstream: 'first',
  inputTokens: 1,
  outputTokens: 1,
  reserved: 2,
};
const ended = { open, day: '2026-11-22', upstream: 'first', state: 'done', cost: 2 } as EndedCall;

/** Rows that can be written only while there is no trouble. */
function rowsWith(trouble: () => Error | null) {
  const written: EndedCall[] = [];
  const attempt = (calls: readonly EndedCall[]) => {
    const error = trouble();
    if (error !== null) throw error;
    written.push(...calls);
  };
  const none = () => attempt([]);
  return { written, rows: { open: none, raise: none, probe: none, end: attempt } };
}

describe('Writing calls', () => {
  it('reports when what kept it from writing is over, though nobody calls', async () => {
    let trouble: Error | null = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    const { rows, written } = rowsWith(() => trouble);
    const calls = new CallWriter(rows);
    const refused = await calls.open(open).catch((error) => error);
    expect(notRecorded(refused).message).to.contain('its disk is full');
    expect(calls.problem).to.equal(trouble);
    trouble = null;
    await until('the end of the problem', () => calls.problem === null);
    calls.end(ended);
    await calls.flush();
    expect(written).to.deep.equal([ended]);
    calls.close();
  });

  it('keeps what ended until it can be written, without being asked', async () => {
    let trouble: Error | null = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    const { rows, written } = rowsWith(() => trouble);
    const calls = new CallWriter(rows);
    calls.end(ended);
    calls.end(ended);
    expect(calls.unwritten).to.have.length(2);
    trouble = null;
    await until('the writing', () => calls.unwritten.length === 0);
    expect(written).to.deep.equal([ended, ended]);
    calls.close();
  });

  it('takes a lock of another process for a problem only when it lasts', async () => {
    let locked = true;
    const busy = Object.assign(new Error('database is locked'), { errcode: 5 });
    const { rows, written } = rowsWith(() => (locked ? busy : null));
    const calls = new CallWriter(rows);
    calls.end(ended);
    const opened = calls.open({ ...open, id: 2 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls.problem).to.equal(null);
    locked = false;
    await opened;
    expect(written).to.deep.equal([ended]);
    calls.close();
  });

  it('names a lock, and says what to do about it', () => {
    const told = notRecorded(Object.assign(new Error('database is locked'), { errcode: 5 }));
    expect(told.message).to.contain('another process has the ledger locked');
    expect(told.hint).to.contain('ledger.sqlite').and.not.contain('room');
  });
});
