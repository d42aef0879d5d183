import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Health } from '#kit/contracts/health.ts';
import { HttpBrowser } from '../fixtures/oidc/http-browser.ts';
import { RealProvider } from '../fixtures/oidc/real-provider.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { core, ended, started } from '../fixtures/world/core-command.ts';
import { freePort } from '../support/free-port.ts';

describe('core-agentd with an identity provider', () => {
  let home: string;
  let daemon: ChildProcess | null;
  let provider: RealProvider;

  beforeEach(() => {
    home = temporaryFolder();
    mkdirSync(join(home, 'config'));
    daemon = null;
  });
  afterEach(async () => {
    await provider?.stop();
    if (daemon === null || daemon.exitCode !== null) return;
    daemon.kill();
    await once(daemon, 'close');
  });

  const write = (oidc: object) => writeFileSync(join(home, 'config/oidc.json'), JSON.stringify(oidc));

  it('starts while the provider is away, says so, is healthy enough, and signs in as soon as it is there', async () => {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    provider = new RealProvider(await freePort(), address);
    provider.accounts.set('mira', { email: 'mira@example.org', groups: ['all'] });
    const { issuer } = provider;
    const scopes = ['openid', 'email', 'groups'];
    write({
      issuer,
      name: 'Example ID',
      client_id: 'core-public',
      address,
      scopes,
      groups: { all: ['read'] },
    });
    const { child } = started(core, ['serve', '--home', home, '--port', `${port}`]);
    daemon = child;
    const check = async () => {
      const answer = await fetch(`${address}/healthz`).catch(() => null);
      if (answer === null) return undefined;
      expect(answer.status).to.equal(200);
      return ((await answer.json()) as Health).checks.identity_provider;
    };
    await until('the daemon to say that the provider does not answer', async () => {
      const found = await check();
      return found?.status === 'degraded' && found.detail.includes(`Example ID does not answer`);
    });
    const browser = new HttpBrowser(address, issuer);
    expect(await (await browser.get('/')).text())
      .to.contain('Sign in with Example ID')
      .and.to.contain('./core review');
    await provider.start();
    expect((await browser.signIn('mira')).status).to.equal(200);
    expect((await browser.get('/')).status).to.equal(200);
    await until('the daemon to say that it does', async () => (await check())?.status === 'ok');
    const { stdout } = await ended(core, ['session', 'list', '--home', home], { CORE_AGENTD_URL: address });
    expect(stdout).to.match(/mira@example\.org#[0-9a-f]{16} +provider +just now +in (1 h|60 min)/);
  });

  it('does not start with a file that cannot be meant, and says what is wrong with it', async () => {
    write({
      issuer: 'https://id.example.org',
      client_id: 'core',
      client_secret_file: 'secret',
      address: 'http://127.0.0.1:7817',
      groups: { all: ['read'] },
    });
    for (const args of [['serve'], ['serve', '--check']]) {
      const { code, stderr } = await ended(core, [...args, '--home', home]);
      expect([code, stderr.includes('oidc.json: /client_secret_file is secret')], stderr).to.deep.equal([
        2,
        true,
      ]);
    }
  });
});
