import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { codeOf } from '#kit/errors.ts';
import { RealProvider } from '../../../../test/fixtures/oidc/real-provider.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import type { OidcSettings } from './configuration.ts';
import { IdentityProvider } from './provider.ts';

describe('The identity provider', () => {
  const address = 'http://127.0.0.1:7817';
  const attempt = {
    nonce: 'n',
    verifier: 'v'.repeat(43),
    run: null,
    before: null,
    issuer: '',
    client_id: '',
  };
  let real: RealProvider;
  let provider: IdentityProvider;
  let settings: OidcSettings;
  let now = 0;

  beforeEach(async () => {
    real = new RealProvider(await freePort(), address);
    settings = {
      issuer: real.issuer,
      name: 'Example ID',
      client_id: 'core-public',
      client_secret_file: null,
      address,
      scopes: ['openid'],
      groups_claim: 'groups',
      groups: { all: ['read'] },
      name_claims: ['email'],
      session_minutes: 60,
      clock_tolerance_seconds: 30,
    };
    provider = new IdentityProvider({
      settings: () => settings,
      revoked: () => [],
      folders: { secrets: '/nonexistent' },
      proxies: environment,
      timeoutMs: 10_000,
      now: () => now,
    });
  });
  afterEach(async () => {
    await provider.close();
    await real.stop();
  });

  const asked = () => provider.address(settings, attempt, 's').catch(codeOf);

  it('is asked what it is once in ten minutes, and again as soon as it answers', async () => {
    expect(await asked()).to.equal('identity_provider_unavailable');
    expect(provider.problem).to.contain('Example ID does not answer');
    await real.start();
    const begun = new URL((await asked())!);
    expect([begun.origin, provider.problem]).to.deep.equal([real.issuer, null]);
    await real.stop();
    now += 10 * 60_000 - 1;
    expect(await asked()).to.contain(real.issuer);
    now += 1;
    expect(await asked()).to.equal('identity_provider_unavailable');
    await real.start();
    expect(await asked()).to.contain(real.issuer);
  });

  it('that changes in oidc.json is asked anew', async () => {
    await real.start();
    await asked();
    const other = await new RealProvider(await freePort(), address).start();
    try {
      settings = { ...settings, issuer: other.issuer };
      expect(await asked()).to.contain(other.issuer);
    } finally {
      await other.stop();
    }
  });
});
