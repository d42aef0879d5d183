import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import type { OpenCall } from './call-rows.ts';
import { findOpenCalls } from './earlier-open-calls.ts';

const account = { key: 'key:1', run: 'run_1', models: null, budget: null };
const line = (id: number, reserved = 16) =>
  `${JSON.stringify([id, 'key:1', 'run_1', 'large', 'first "one"', 7, 9, reserved])}\n`;

function call(id: number, reserved = 16): OpenCall {
  return { id, account, model: 'large', upstream: 'first "one"', inputTokens: 7, outputTokens: 9, reserved };
}

describe('Calls under way in the files of an earlier version', () => {
  let folder: string;
  const part = (number: number, text: string) =>
    writeFileSync(join(folder, `open-calls-${number}.jsonl`), text);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-open-calls-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are found in their order, with what was set aside last', () => {
    expect(findOpenCalls(folder)).to.deep.equal({ calls: [], paths: [] });
    part(10, line(3) + line(1, 20));
    part(9, line(1) + line(2));
    const { calls, paths } = findOpenCalls(folder);
    expect(calls).to.deep.equal([call(1, 20), call(2), call(3)]);
    expect(paths).to.deep.equal([9, 10].map((number) => join(folder, `open-calls-${number}.jsonl`)));
  });

  it('are none where half a line stands at the end: the call was never made', () => {
    part(1, line(1) + line(2).slice(0, -9));
    expect(findOpenCalls(folder).calls).to.deep.equal([call(1)]);
  });

  it('name a file that holds something else, because what it held would not be counted', () => {
    for (const wrong of ['no JSON', '{}', '[1,2,3]', '["1","k",null,"m","u",1,1,1]']) {
      part(1, `${line(1)}${wrong}\n`);
      expect(() => findOpenCalls(folder))
        .to.throw(CoreError, 'open-calls-1.jsonl is damaged: line 2')
        .with.property('code', 'ledger_damaged');
    }
  });
});
