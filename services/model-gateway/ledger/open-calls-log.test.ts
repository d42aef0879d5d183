import { appendFileSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import type { OpenCall } from './call-rows.ts';
import { findOpenCalls, OpenCallsLog } from './open-calls-log.ts';

const account = { key: 'key:1', run: 'run_1', models: null, budget: null };

function call(id: number, model = 'large'): OpenCall {
  return { id, account, model, upstream: 'first "one"', inputTokens: 7, outputTokens: 9, reserved: 16 };
}

describe('The log of calls under way', () => {
  let folder: string;
  let log: OpenCallsLog;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-open-calls-'));
    log = new OpenCallsLog(folder, findOpenCalls(folder).next);
  });
  afterEach(() => {
    log.close();
    rmSync(folder, { recursive: true });
  });

  it('tells the next start who was cut off, and nothing when all have ended', async () => {
    log.append([call(1), call(2)]);
    log.append([call(3)]);
    await log.sync();
    expect(findOpenCalls(folder).calls).to.deep.equal([call(1), call(2), call(3)]);
    log.forget([1, 3]);
    expect(findOpenCalls(folder).calls.map(({ id }) => id)).to.include(2);
    log.forget([2]);
    expect(findOpenCalls(folder).calls).to.deep.equal([]);
    log.append([call(4)]);
    log.forget([4]);
    log.close();
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('keeps a part as long as one of its calls is under way, and begins another when it is large', () => {
    const long = 'm'.repeat(600_000);
    log.append([call(1)]);
    for (let id = 2; id < 8; id++) log.append([call(id, long)]);
    expect(readdirSync(folder)).to.have.length(3);
    log.forget([2, 3, 4, 5, 6, 7]);
    expect(readdirSync(folder)).to.have.length(2);
    log.close();
    const left = findOpenCalls(folder);
    expect(left.calls.map(({ id }) => id)).to.deep.equal([1, 2, 3]);
    expect(left.next).to.equal(2);
  });

  it('takes half a line at its end for a call that was never made', () => {
    log.append([call(1), call(2)]);
    const path = join(folder, 'open-calls-1.jsonl');
    truncateSync(path, JSON.stringify([1, 'key:1', 'run_1', 'large', 'first "one"', 7, 9, 16]).length + 9);
    expect(findOpenCalls(folder).calls).to.deep.equal([call(1)]);
  });

  it('names a file that holds something else, because what it held would not be counted', () => {
    log.append([call(1)]);
    for (const line of ['no JSON', '{}', '[1,2,3]', '["1","k",null,"m","u",1,1,1]']) {
      log.forget([1]);
      log.append([call(1)]);
      appendFileSync(join(folder, 'open-calls-1.jsonl'), `${line}\n`);
      expect(() => findOpenCalls(folder))
        .to.throw(CoreError, 'open-calls-1.jsonl is damaged: line 2')
        .with.property('code', 'ledger_damaged');
    }
  });
});
