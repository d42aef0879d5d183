import { expect } from 'chai';
import { until } from '../../../test/fixtures/until.ts';
import type { CallRows, EndedCall, OpenCall } from './call-rows.ts';
import { GroupCommit } from './group-commit.ts';
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

describe('Writing calls in groups', () => {
  it('tells when what kept it from writing is over, though nobody calls', async () => {
    let trouble: Error | null = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    const written: EndedCall[] = [];
    const attempt = (calls: readonly EndedCall[]) => {
      if (trouble !== null) throw trouble;
      written.push(...calls);
    };
    const rows = { commit: attempt, probe: () => attempt([]) } as unknown as CallRows;
    const commits = new GroupCommit(rows, { append: () => attempt([]) }, () => 1);
    const refused = await commits.open(open, true).catch((error) => error);
    expect(notRecorded(refused).message).to.contain('its disk is full');
    expect(commits.problem).to.equal(trouble);
    trouble = null;
    await until('the end of the problem', () => commits.problem === null);
    commits.end(ended);
    await commits.flush();
    expect(written).to.deep.equal([ended]);
    commits.close();
  });

  it('takes a lock of another process for a problem only when it lasts', async () => {
    let locked = true;
    const written: EndedCall[] = [];
    const rows = {
      commit(calls: readonly EndedCall[]) {
        if (locked) throw Object.assign(new Error('database is locked'), { errcode: 5 });
        written.push(...calls);
      },
    } as unknown as CallRows;
    const commits = new GroupCommit(rows, { append: () => {} }, () => 1);
    commits.end(ended);
    const flushed = commits.flush();
    await commits.open({ ...open, id: 2 }, false);
    expect(commits.problem).to.equal(null);
    locked = false;
    await flushed;
    expect(written).to.deep.equal([ended]);
    commits.close();
  });

  it('names a lock, and says what to do about it', () => {
    const told = notRecorded(Object.assign(new Error('database is locked'), { errcode: 5 }));
    expect(told.message).to.contain('another process has the ledger locked');
    expect(told.hint).to.contain('ledger.sqlite').and.not.contain('room');
  });
});
