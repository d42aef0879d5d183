import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { accountName } from '#kit/contracts/account.ts';
import { createToken, openTokens, revokeToken, type Scope } from '#kit/tokens/tokens.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { Sessions } from './session.ts';

describe('Sessions of the review page', () => {
  let stateDir: string;
  let folders: { tokens: string };
  let now: number;
  let sessions: Sessions;

  function open(): Sessions {
    return new Sessions({ stateDir, tokens: openTokens(folders), now: () => now });
  }

  function signedIn(name = 'mira'): string {
    const { code } = sessions.link(sessions.ownerOf({ name }));
    const { browser } = sessions.openLink(code, null)!;
    return sessions.signIn(code, browser)!;
  }

  beforeEach(() => {
    stateDir = temporaryFolder();
    folders = { tokens: temporaryFolder() };
    createToken(folders, { name: 'mira', scopes: ['read', 'approve'] });
    now = Date.now();
    sessions = open();
  });

  it('begin with a link that works once, for its browser alone', () => {
    const { code, expires_at } = sessions.link(sessions.ownerOf({ name: 'mira' }));
    expect(Date.parse(expires_at) - now).to.equal(300_000);
    const first = sessions.openLink(code, null)!;
    expect(first.identity).to.deep.equal({ name: 'mira', scopes: ['read', 'approve'] });
    expect(sessions.openLink(code, null)).to.equal(null);
    expect(sessions.openLink(code, 'x'.repeat(43))).to.equal(null);
    expect(sessions.openLink(code, first.browser)).to.deep.equal(first);
    expect(sessions.signIn(code, null)).to.equal(null);
    const text = sessions.signIn(code, first.browser)!;
    expect(sessions.identity(text)).to.deep.equal(first.identity);
    expect(sessions.openLink(code, first.browser)).to.equal(null);
    expect(sessions.signIn(code, first.browser)).to.equal(null);
  });

  it('do not begin with a link that is too old or unknown', () => {
    const { code } = sessions.link(sessions.ownerOf({ name: 'mira' }));
    now += 300_000;
    expect(sessions.openLink(code, null)).to.equal(null);
    expect(sessions.openLink('', null)).to.equal(null);
  });

  it('last twelve hours, over a restart, and lie in the state folder as digests that only its owner reads', () => {
    const text = signedIn();
    const path = join(stateDir, 'review-sessions.json');
    expect(readFileSync(path, 'utf8')).to.not.contain(text);
    expect(statSync(path).mode & 0o777).to.equal(0o600);
    expect(open().identity(text)?.name).to.equal('mira');
    now += 12 * 3_600_000 - 1;
    expect(sessions.identity(text)?.name).to.equal('mira');
    now += 1;
    expect(sessions.identity(text)).to.equal(null);
  });

  it('end when the token is revoked, and another one of its name does not revive them', () => {
    const text = signedIn();
    const { code } = sessions.link(sessions.ownerOf({ name: 'mira' }));
    revokeToken(folders, 'mira');
    expect(sessions.identity(text)).to.equal(null);
    expect(sessions.openLink(code, null)).to.equal(null);
    createToken(folders, { name: 'mira', scopes: ['read', 'approve', 'execute'] });
    expect(sessions.identity(text)).to.equal(null);
  });

  it('are ended one by one, or all of one owner with the links that were not used', () => {
    createToken(folders, { name: 'yuki', scopes: ['read'] });
    const texts = [signedIn(), signedIn(), signedIn()];
    const other = signedIn('yuki');
    sessions.end(texts[0]!);
    const { code } = sessions.link(sessions.ownerOf({ name: 'mira' }));
    expect(texts.map((text) => sessions.identity(text)?.name)).to.deep.equal([undefined, 'mira', 'mira']);
    expect(sessions.endAll('mira')).to.equal(2);
    expect(texts.map((text) => sessions.identity(text))).to.deep.equal([null, null, null]);
    expect(sessions.openLink(code, null)).to.equal(null);
    expect(sessions.identity(other)?.name).to.equal('yuki');
  });

  it('of an account last as long as they are begun for, and may what its groups may now', () => {
    const account = { issuer: 'https://id.example.org', subject: '1' };
    const owner = { kind: 'account' as const, account, shown: 'mira', groups: ['leads'] };
    let scopes: readonly Scope[] = ['read', 'approve'];
    const accounts = new Sessions({
      stateDir,
      tokens: openTokens(folders),
      now: () => now,
      accountScopes: (of, groups) => (of.subject === '1' && groups.includes('leads') ? scopes : []),
    });
    const text = accounts.begin(owner, 60_000);
    const byLink = accounts.begin(accounts.ownerOf({ name: 'mira' }));
    expect(accounts.identity(text)).to.deep.include({ scopes, providerAccount: account });
    scopes = ['read'];
    expect(accounts.identity(text)?.scopes).to.deep.equal(['read']);
    expect(accounts.list().map(({ owner: { kind } }) => kind)).to.deep.equal(['account', 'token']);
    scopes = [];
    expect(accounts.identity(text)).to.equal(null);
    expect(accounts.list()).to.have.length(1);
    scopes = ['read'];
    // Without a provider, nobody is signed in by one.
    expect(open().identity(text)).to.equal(null);
    // A token of the name that the account is shown with is somebody else.
    expect(accounts.endAll('mira')).to.equal(1);
    expect([accounts.identity(byLink), accounts.identity(text)?.name]).to.deep.equal([
      null,
      accountName(account, 'mira'),
    ]);
    now += 60_000;
    expect(accounts.identity(text)).to.equal(null);
    const next = accounts.begin(owner, 60_000);
    expect(accounts.endAll(accountName(account, 'another name'))).to.equal(1);
    expect(accounts.identity(next)).to.equal(null);
  });

  it('are forgotten where their file is damaged', () => {
    const text = signedIn();
    writeFileSync(join(stateDir, 'review-sessions.json'), '{"sessions": [');
    expect(open().identity(text)).to.equal(null);
  });
});
