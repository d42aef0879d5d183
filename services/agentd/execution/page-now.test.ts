import { expect } from 'chai';
import { Failed } from '#kit/errors.ts';
import { withoutRules } from '../../../test/fixtures/approved/without-rules.ts';
import { sampleRun } from '../../../test/fixtures/runs/sample-run.ts';
import { summaryOf } from '../runs/run.ts';
import { pageNow } from './page-now.ts';

describe('a page of runs as approvals count now', () => {
  const summary = { ...summaryOf(sampleRun()), waiting: 0 };
  const page = { runs: [summary], next_cursor: null, problems: [] };

  for (const code of ['run_not_found', 'run_pruned', 'record_cut', 'run_damaged'])
    it(`shows a run that cannot be read as listed: ${code}`, async () => {
      const read = () => Promise.reject(new Failed(code, 'it cannot be read'));
      expect(await pageNow({ read }, page, () => withoutRules)).to.deep.equal(page);
    });

  it('fails if the store does not answer', async () => {
    const read = () => Promise.reject(new Failed('database_unavailable', 'no answer'));
    const error = await pageNow({ read }, page, () => withoutRules).catch((thrown) => thrown);
    expect(error).to.have.property('code', 'database_unavailable');
  });
});
