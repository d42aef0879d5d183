import { expect } from 'chai';
import { giteaBench, githubBench, type RemoteBench } from './forge.benches.ts';

for (const [kind, open] of [
  ['github', githubBench],
  ['gitea', giteaBench],
] as const) {
  describe(`the right of an account on ${kind}`, () => {
    let bench: RemoteBench;

    before(async () => {
      bench = await open();
      bench.served.collaborators.push('ben');
      bench.served.triagers.push('tom');
      bench.served.readers.push('rex');
    });
    after(() => bench.close());

    const right = (login: string) =>
      bench.again({ name: 'work' }).right({ owner: bench.served.owner, repo: bench.served.repo }, login);

    it('is what the forge says of it', async () => {
      expect(await right(bench.served.owner)).to.deep.equal({ right: 'write', reason: '' });
      expect(await right('ben')).to.deep.equal({ right: 'write', reason: '' });
      expect(await right('rex')).to.deep.equal({ right: 'none', reason: '' });
      expect(await right('eve')).to.deep.equal({ right: 'none', reason: '' });
      expect((await right('tom')).right).to.equal(kind === 'github' ? 'triage' : 'none');
    });

    it('is unknown, with the reason, for what is not a login', async () => {
      for (const login of ['renovate[bot]', '..', 'a/b', 'a b', ''])
        expect(await right(login)).to.deep.equal({
          right: null,
          reason: `${JSON.stringify(login)} is not a login`,
        });
    });

    it('is unknown, with the reason, where our account may not ask', async () => {
      bench.served.administered = false;
      const { right: known, reason } = await right('ben');
      expect(known).to.equal(null);
      expect(reason).to.match(/^the permission of ben in \S+ could not be learned: /);
    });
  });
}
