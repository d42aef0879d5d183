import { expect } from 'chai';
import { filtersOf } from './filters.ts';

describe('The filters of a list', () => {
  it('are named as they were typed, without what pages through it', () => {
    const options = { state: 'closed', asOf: '2026-01-02', kind: ['file', 'issue'], limit: 3, cursor: 'x' };
    expect(filtersOf({ ...options, repository: undefined })).to.equal(
      '--state closed --as-of 2026-01-02 --kind file --kind issue',
    );
    expect(filtersOf({ limit: 10 })).to.equal('');
  });
});
