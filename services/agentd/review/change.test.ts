import { expect } from 'chai';
import { Changes } from './change.ts';

const patchOf = (name: string, lines: number) =>
  `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -0,0 +1,${lines} @@\n${'+a line\n'.repeat(lines)}`;

describe('open patches', () => {
  const agent = {
    artifact: async (_: string, digest: string) => {
      if (digest === 'missing') throw new Error('no such artifact');
      return Buffer.from(patchOf(digest, digest === 'large' ? 1_000 : 10));
    },
  };

  it('stay open within a number of bytes, those that were read last', async () => {
    const changes = new Changes(agent, 500);
    for (const digest of ['a', 'b', 'c', 'a', 'd', 'e']) await changes.of('run_1', digest);
    expect(changes.open).to.deep.equal(['a', 'd', 'e']);
    expect(await changes.of('run_1', 'a')).to.equal(await changes.of('run_1', 'a'));
  });

  it('keep one that is larger than all of it, alone, and none that cannot be read', async () => {
    const changes = new Changes(agent, 500);
    await changes.of('run_1', 'a');
    await changes.of('run_1', 'large');
    expect(changes.open).to.deep.equal(['large']);
    const failed = await changes.of('run_1', 'missing').catch(({ message }) => message);
    expect(failed).to.equal('no such artifact');
    await changes.of('run_1', 'b');
    expect(changes.open).to.deep.equal(['b']);
  });
});
