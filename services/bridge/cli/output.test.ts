import { expect } from 'chai';
import { due } from './output.ts';

describe('When something is to come', () => {
  const time = '2026-01-02T03:04:05.000Z';

  it('is printed, or that it waits for its turn', () => {
    const at = Date.parse(time);
    expect(due(time, 'again', at - 1)).to.equal('again 2026-01-02 03:04:05Z');
    expect(due(time, 'next', at)).to.equal('due since 2026-01-02 03:04:05Z');
  });
});
