import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { type PageBinding, readClientSecret, readOidc } from './configuration.ts';

describe('oidc.json', () => {
  const binding: PageBinding = {
    host: '127.0.0.1',
    allowed_hosts: ['core.example.org'],
    behind_proxy: true,
    tls: null,
  };
  const good = {
    issuer: 'https://id.example.org/realms/team',
    client_id: 'core',
    address: 'https://core.example.org',
    groups: { all: ['read'] },
  };

  function read(changes: object, at = binding) {
    const config = temporaryFolder();
    writeFileSync(join(config, 'oidc.json'), JSON.stringify({ ...good, ...changes }));
    return readOidc({ config }, at);
  }

  it('names no provider unless somebody writes one, and has its defaults otherwise', () => {
    expect(readOidc({ config: temporaryFolder() }, binding)).to.equal(null);
    expect(read({})).to.include({ groups_claim: 'groups', session_minutes: 60, clock_tolerance_seconds: 30 });
    expect(read({ address: 'https://core.example.org/' })!.address).to.equal('https://core.example.org');
    expect(read({ issuer: 'http://localhost:4000', address: 'http://127.0.0.1:7817' })).to.not.equal(null);
  });

  const wrong: readonly (readonly [changes: object, message: string])[] = [
    [{ issuer: 'id' }, '/issuer is "id": must be an http or https address'],
    [{ issuer: 'http://id.example.org' }, '/issuer is http://id.example.org: must be an https address'],
    [{ issuer: 'https://id.example.org/?x' }, 'without user, query and fragment'],
    [{ client_id: null }, '/client_id is null: must name the client'],
    [{ address: null }, '/address is null: must be where browsers reach the review page'],
    [{ address: 'https://core.example.org/page' }, 'must be an https address without path'],
    [{ address: 'http://core.example.org' }, '/address is http://core.example.org: must be an https address'],
    [{ address: 'https://evil.test' }, 'must be one of localhost, 127.0.0.1, ::1, core.example.org'],
    [{ scopes: ['email'] }, '/scopes is ["email"]: must have openid'],
    [{ groups: {} }, '/groups is empty, so that nobody could sign in'],
    [{ groups: { 'a/b': ['approve'] } }, '/groups/a~1b is ["approve"]: must have read'],
    [
      { groups: { all: ['read', 'mint'] } },
      '/groups/all/1 is "mint": must be one of read, plan, approve, execute, admin',
    ],
    [{ name_claims: [] }, '/name_claims is empty: must name a claim'],
    [{ session_minutes: 4 }, '/session_minutes is 4: must be an integer from 5 to 720'],
    [{ groups_claims: 'x' }, '/groups_claims'],
  ];
  for (const [changes, message] of wrong) {
    it(`refuses ${JSON.stringify(changes)}, with the value and the rule`, () => {
      expect(() => read(changes))
        .to.throw(message)
        .with.property('code', 'config_invalid');
    });
  }

  it('refuses an address over TLS where nothing ends it', () => {
    expect(() => read({}, { ...binding, behind_proxy: false })).to.throw('agentd.behind_proxy');
    expect(read({}, { ...binding, behind_proxy: false, tls: {} })).to.not.equal(null);
  });

  it('takes the secret of the client from a file, and says which one where it cannot', () => {
    const secrets = join(temporaryFolder(), 'secrets');
    mkdirSync(secrets);
    const of = (client_secret_file: string | null) => readClientSecret({ client_secret_file }, { secrets });
    writeFileSync(join(secrets, 'good'), 'a-secret\n');
    writeFileSync(join(secrets, 'bad'), 'two words');
    expect([of(null), of('good'), of(join(secrets, 'good'))]).to.deep.equal([null, 'a-secret', 'a-secret']);
    expect(() => of('none')).to.throw(`${join(secrets, 'none')} cannot be read`);
    expect(() => of('bad'))
      .to.throw('must hold one secret')
      .with.property('message')
      .that.does.not.contain('two words');
  });
});
