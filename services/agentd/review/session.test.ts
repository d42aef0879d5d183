import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { accountName } from '#kit/contracts/account.ts';
import { createToken, openTokens, revokeToken, type Scope } from '#kit/tokens/tokens.ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { signInsIn } from '../../../test/fixtures/review/sign-ins.ts';
import { agentdSchema } from '../schema.ts';
import { Sessions } from './session.ts';
import type { SignInStore } from './sign-in-store.ts';

describe('Sessions of the review page', () => {
  let stateDir: string;
  let folders: { tokens: string };
  let now: number;
  let sessions: Sessions;

  function store(): SignInStore {
    return signInsIn(stateDir, () => now);
  }

  function open(): Sessions {
    return new Sessions({ store: store(), tokens: openTokens(folders) });
  }

  function identityOf(name: string) {
    return {
      name,
      token: openTokens(folders)
        .list()
        .find((token) => token.name === name)!.sha256,
    };
  }

  async function signedIn(name = 'mira'): Promise<string> {
    const { code } = await sessions.link(sessions.ownerOf(identityOf(name)));
    const { browser } = (await sessions.openLink(code, null))!;
    return (await sessions.signIn(code, browser))!;
  }

  function identities(texts: readonly string[]) {
    return Promise.all(texts.map((text) => sessions.identity(text)));
  }

  beforeEach(() => {
    stateDir = temporaryFolder();
    folders = { tokens: temporaryFolder() };
    createToken(folders, { name: 'mira', scopes: ['read', 'approve'] });
    now = Date.now();
    sessions = open();
  });

  it('begin with a link that works once, for its browser alone', async () => {
    const { code, expires_at } = await sessions.link(sessions.ownerOf(identityOf('mira')));
    expect(Date.parse(expires_at) - now).to.equal(300_000);
    const first = (await sessions.openLink(code, null))!;
    expect(first.identity).to.deep.equal({ ...identityOf('mira'), scopes: ['read', 'approve'] });
    expect(await sessions.openLink(code, null)).to.equal(null);
    expect(await sessions.openLink(code, 'x'.repeat(43))).to.equal(null);
    expect(await sessions.openLink(code, first.browser)).to.deep.equal(first);
    expect(await sessions.signIn(code, null)).to.equal(null);
    const text = (await sessions.signIn(code, first.browser))!;
    expect(await sessions.identity(text)).to.deep.equal(first.identity);
    expect(await sessions.openLink(code, first.browser)).to.equal(null);
    expect(await sessions.signIn(code, first.browser)).to.equal(null);
  });

  it('do not begin with a link that is too old or unknown', async () => {
    const { code } = await sessions.link(sessions.ownerOf(identityOf('mira')));
    now += 300_000;
    expect(await sessions.openLink(code, null)).to.equal(null);
    expect(await sessions.openLink('', null)).to.equal(null);
  });

  it('last twelve hours, over a restart, and lie in the state folder as digests that only its owner reads', async () => {
    const text = await signedIn();
    const files = readdirSync(stateDir);
    expect(files).to.include(agentdSchema.file);
    for (const file of files) {
      expect(readFileSync(join(stateDir, file), 'latin1'), file).to.not.contain(text);
      expect(statSync(join(stateDir, file)).mode & 0o777, file).to.equal(0o600);
    }
    expect((await open().identity(text))?.name).to.equal('mira');
    now += 12 * 3_600_000 - 1;
    expect((await sessions.identity(text))?.name).to.equal('mira');
    now += 1;
    expect(await sessions.identity(text)).to.equal(null);
  });

  it('end when the token is revoked, and another one of its name does not revive them', async () => {
    const text = await signedIn();
    const { code } = await sessions.link(sessions.ownerOf(identityOf('mira')));
    revokeToken(folders, 'mira');
    expect(await sessions.identity(text)).to.equal(null);
    expect(await sessions.openLink(code, null)).to.equal(null);
    createToken(folders, { name: 'mira', scopes: ['read', 'approve', 'execute'] });
    expect(await sessions.identity(text)).to.equal(null);
  });

  it('are ended one by one, or all of one owner with the links that were not used', async () => {
    createToken(folders, { name: 'yuki', scopes: ['read'] });
    const texts = [await signedIn(), await signedIn(), await signedIn()];
    const other = await signedIn('yuki');
    await sessions.end(texts[0]!);
    const { code } = await sessions.link(sessions.ownerOf(identityOf('mira')));
    expect((await identities(texts)).map((one) => one?.name)).to.deep.equal([undefined, 'mira', 'mira']);
    expect(await sessions.endAll('mira')).to.equal(2);
    expect(await identities(texts)).to.deep.equal([null, null, null]);
    expect(await sessions.openLink(code, null)).to.equal(null);
    expect((await sessions.identity(other))?.name).to.equal('yuki');
  });

  it('of an account last as long as they are begun for, and may what its groups may now', async () => {
    const account = { issuer: 'https://id.example.org', subject: '1' };
    const owner = { kind: 'account' as const, account, shown: 'mira', groups: ['leads'] };
    let scopes: readonly Scope[] = ['read', 'approve'];
    const accounts = new Sessions({
      store: store(),
      tokens: openTokens(folders),
      accountScopes: (of, groups) => (of.subject === '1' && groups.includes('leads') ? scopes : []),
    });
    const text = await accounts.begin(owner, 60_000);
    const byLink = await accounts.begin(accounts.ownerOf(identityOf('mira')));
    expect(await accounts.identity(text)).to.deep.include({ scopes, providerAccount: account });
    scopes = ['read'];
    expect((await accounts.identity(text))?.scopes).to.deep.equal(['read']);
    expect((await accounts.list()).map(({ owner: { kind } }) => kind)).to.deep.equal(['account', 'token']);
    scopes = [];
    expect(await accounts.identity(text)).to.equal(null);
    expect(await accounts.list()).to.have.length(1);
    scopes = ['read'];
    // Without a provider, nobody is signed in by one.
    expect(await open().identity(text)).to.equal(null);
    // A token of the name that the account is shown with is somebody else.
    expect(await accounts.endAll('mira')).to.equal(1);
    expect([await accounts.identity(byLink), (await accounts.identity(text))?.name]).to.deep.equal([
      null,
      accountName(account, 'mira'),
    ]);
    now += 60_000;
    expect(await accounts.identity(text)).to.equal(null);
    const next = await accounts.begin(owner, 60_000);
    expect(await accounts.endAll(accountName(account, 'another name'))).to.equal(1);
    expect(await accounts.identity(next)).to.equal(null);
  });

  it('are refused when their file is damaged, with its name and the remedy', async () => {
    const text = await signedIn();
    const path = join(stateDir, agentdSchema.file);
    for (const file of readdirSync(stateDir)) writeFileSync(join(stateDir, file), 'x'.repeat(8_192));
    const error = await failure(open().identity(text));
    expect(error).to.be.an('error').with.property('code', 'agentd_damaged');
    expect(String(error)).to.contain(path);
  });
});
