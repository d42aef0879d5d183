import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { examineForge } from '../../services/agentd/forges/examine.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';
import { giteaBench, githubBench, type RemoteBench } from './forge.benches.ts';
import { realGiteaBench } from './real-gitea.bench.ts';

const enough = ['read:organization', 'read:user', 'write:issue', 'write:repository'];

for (const [kind, open] of [
  ['github', githubBench],
  ['gitea', giteaBench],
] as const) {
  describe(`how a ${kind} stands`, () => {
    let bench: RemoteBench;

    beforeEach(async () => {
      bench = await open();
    });
    afterEach(async () => {
      expect(bench.violations()).to.deep.equal([]);
      await bench.close();
    });

    const examined = async (options: Parameters<RemoteBench['again']>[0] = {}, answerMs = 10_000) =>
      examineForge(bench.again(options), answerMs);

    it('is reported with the account of the token and its scopes', async () => {
      bench.server.state.scopes = kind === 'gitea' ? enough : ['repo', 'read:org'];
      const report = await examined();
      expect(report).to.include({ forge: 'remote', kind, state: 'works', fix: null });
      expect(report.detail).to.contain('token of core-bot, scopes r');
      expect(Math.abs(report.facts!.clock_ahead_s!)).to.be.below(60);
    });

    it('names each scope that the token lacks, and what needs it', async () => {
      bench.server.state.scopes =
        kind === 'gitea' ? ['write:repository', 'read:user', 'read:issue'] : ['read:org'];
      const { state, detail, fix } = await examined();
      expect(state).to.equal('limited');
      const lacking =
        kind === 'gitea'
          ? ['read:organization, for plan-issue', 'write:issue, for execute-approved']
          : ['repo, for plan-issue'];
      for (const words of lacking) expect(detail).to.contain(`the token lacks ${words}`);
      expect(detail).to.not.contain('lacks write:repository').and.not.contain('lacks read:user');
      expect(fix).to.contain('scopes');
    });

    it('names the file of a token that is unknown, of another account, unreadable or not there', async () => {
      const file = join(temporaryFolder(), 'other-token');
      const about = async (options: Parameters<RemoteBench['again']>[0] = {}) => {
        const { state, detail, fix } = await examined({ token_file: file, ...options });
        expect(`${detail} ${fix}`).to.contain(file).and.not.contain('\n');
        return state;
      };
      expect(await about()).to.equal('unused');
      writeFileSync(file, 'revoked');
      expect(await about()).to.equal('refused');
      writeFileSync(file, '');
      expect(await about()).to.equal('refused');
      writeFileSync(file, bench.server.state.token);
      expect(await about({ account: 'mira' })).to.equal('refused');
    });

    it('is never called gone while it is silent', async () => {
      bench.server.faults.push({ path: /^\/user/, answer: 'hang', times: 10 });
      const silent = await examined({}, 300);
      expect(silent).to.include({ state: 'silent' });
      expect(silent.detail).to.contain('did not answer within 0.3 s').and.not.contain('reached');
      const dead = createServer().listen(0, '127.0.0.1');
      await once(dead, 'listening');
      const { port } = dead.address() as AddressInfo;
      await new Promise((done) => dead.close(done));
      expect(await examined({ base_url: `http://127.0.0.1:${port}` })).to.include({ state: 'unreachable' });
    });
  });
}

describe('how an older gitea stands', () => {
  it('says what its refusals name, where it does not list the scopes of a token', async () => {
    const bench = await giteaBench();
    const message = 'token does not have at least one of required scope(s): [read:organization]';
    const answer = { status: 403, body: { message } };
    bench.server.faults.push(
      { path: /^\/user\/orgs/, answer },
      { path: /^\/admin/, answer: { ...answer, body: { message: 'x' } } },
    );
    const { state, detail } = await examineForge(bench.again({}), 10_000);
    expect(state).to.equal('limited');
    expect(detail).to.contain('token of core-bot; the token lacks read:organization');
    await bench.close();
  });
});

describeWith(['gitea'], 'how a real gitea stands', () => {
  it('is reported with the account and scopes of the token, and those that it lacks', async () => {
    const bench = await realGiteaBench();
    const report = await examineForge(bench.forge, 10_000);
    expect(report, report.detail).to.include({ state: 'works' });
    expect(report.facts!.account).to.equal('core-bot');
    expect(report.facts!.scopes).to.have.members(enough);
    const lacking = await examineForge(await bench.withScopes(['read:repository', 'write:issue']), 10_000);
    expect(lacking.facts!.lacking.map(({ scope }) => scope)).to.have.members([
      'read:user',
      'read:organization',
      'write:repository',
    ]);
    expect(lacking.url).to.equal(environment.CORE_TEST_GITEA_URL!.replace(/\/$/, ''));
    await bench.close();
  });
});
