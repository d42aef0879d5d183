import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { CoreError } from '../errors.ts';
import { leastToken } from './least-token.ts';
import { inForce, isTokenText, type TokenRecord, tokenNameFor } from './token.ts';
import { readTokenFile, registryVersion } from './token-files.ts';
import {
  createToken,
  ensureTokens,
  openTokens,
  ownToken,
  revokeToken,
  serviceToken,
  tokenAtHand,
} from './tokens.ts';

const run = promisify(execFile);

describe('Tokens', () => {
  let root: string;
  let folders: { tokens: string };
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'core-tokens-'));
    folders = { tokens: join(root, 'tokens') };
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function codeThrown(work: () => unknown): string {
    try {
      work();
    } catch (error) {
      expect(error).to.be.instanceOf(CoreError);
      return (error as CoreError).code;
    }
    return 'nothing';
  }

  it('exist for the person and each service after the first start, private', () => {
    ensureTokens(folders);
    const tokens = openTokens(folders);
    const kinds = tokens.list().map(({ name, kind, scopes }) => [kind === 'person' ? 'me' : name, scopes]);
    expect(kinds).to.deep.equal([
      ['me', ['read', 'plan', 'approve', 'execute', 'admin', 'model', 'mint']],
      ['bridge', ['read', 'plan']],
      ['worker', ['read', 'plan']],
      ['agentd', ['read', 'plan', 'mint']],
    ]);
    for (const file of readdirSync(folders.tokens).filter((name) => name !== '.lock')) {
      expect(statSync(join(folders.tokens, file)).mode & 0o777, file).to.equal(0o600);
    }
    expect(statSync(folders.tokens).mode & 0o777).to.equal(0o700);
  });

  it('open nothing by their hash, and the registry holds no text', () => {
    const own = ownToken(folders);
    const registry = readFileSync(join(folders.tokens, 'registry.json'), 'utf8');
    expect(registry).not.to.contain(own.text);
    const tokens = openTokens(folders);
    expect(tokens.authenticate(own.text)).to.deep.equal({ name: own.name, scopes: own.scopes });
    expect(tokens.authenticate(tokens.list()[0]!.sha256)).to.equal(null);
    expect(tokens.authenticate('')).to.equal(null);
    expect(tokens.authenticate(`${own.text} `)).to.equal(null);
  });

  it('have texts of 48 hexadecimal digits behind their own name, and no other', () => {
    const digits = 'a'.repeat(48);
    expect(isTokenText(`core_ci_${digits}`, 'ci')).to.equal(true);
    for (const text of [
      `core_other_${digits}`,
      `core_ci_${digits}a`,
      `core_ci_${'g'.repeat(48)}`,
      `${digits}core_ci_`,
    ])
      expect(isTokenText(text, 'ci'), text).to.equal(false);
  });

  it('end at the moment of their expiry, not after it', () => {
    const record: TokenRecord = {
      name: 'brief',
      kind: 'named',
      scopes: [],
      sha256: '',
      created: '',
      revoked: null,
      expires: null,
    };
    const expires = '2026-11-22T07:00:00.000Z';
    const moment = Date.parse(expires);
    expect(inForce({ ...record, expires }, moment - 1)).to.equal(true);
    expect(inForce({ ...record, expires }, moment)).to.equal(false);
    expect(inForce({ ...record, expires: null }, moment)).to.equal(true);
    expect(inForce({ ...record, expires: null, revoked: expires }, moment - 1)).to.equal(false);
  });

  it('get a name from any name of a user', () => {
    const names = { Mira: 'mira', ' Zoë  Ng ': 'zoe-ng', 'a--b_': 'a-b', '***': 'person', 李: 'person' };
    for (const [name, slug] of Object.entries(names)) expect(tokenNameFor(name), name).to.equal(slug);
    const cut = tokenNameFor(`${'x'.repeat(39)} y`);
    expect(cut).to.equal('x'.repeat(39));
    expect(tokenNameFor('x'.repeat(50))).to.equal('x'.repeat(40));
  });

  it('are made once when several processes start at the same time', async () => {
    const script = `import { ownToken } from ${JSON.stringify(new URL('./tokens.ts', import.meta.url).href)};
      console.log(ownToken({ tokens: ${JSON.stringify(folders.tokens)} }).text);`;
    const starts = [1, 2, 3].map(() =>
      run(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]),
    );
    const texts = (await Promise.all(starts)).map(({ stdout }) => stdout.trim());
    expect(new Set(texts).size).to.equal(1);
    expect(openTokens(folders).authenticate(texts[0]!)).not.to.equal(null);
  });

  it('can be made, used and revoked while a server is running', () => {
    ensureTokens(folders);
    const tokens = openTokens(folders);
    const { text } = createToken(folders, { name: 'ci-bot', scopes: ['plan'] });
    expect(text).to.match(/^core_ci-bot_[0-9a-f]{48}$/);
    expect(tokens.authenticate(text)).to.deep.equal({ name: 'ci-bot', scopes: ['plan'] });
    expect(codeThrown(() => createToken(folders, { name: 'ci-bot', scopes: ['plan'] }))).to.equal(
      'token_exists',
    );
    revokeToken(folders, 'ci-bot');
    expect(tokens.authenticate(text)).to.equal(null);
    expect(readdirSync(folders.tokens)).not.to.include('ci-bot.token');
    const again = createToken(folders, { name: 'ci-bot', scopes: ['read'] });
    expect(tokens.authenticate(again.text)?.scopes).to.deep.equal(['read']);
    expect(tokens.authenticate(text)).to.equal(null);
    expect(codeThrown(() => revokeToken(folders, 'nobody'))).to.equal('token_not_found');
  });

  it('stop to open when they expire', () => {
    ensureTokens(folders);
    const expires = new Date(Date.now() + 60_000).toISOString();
    const { text } = createToken(folders, { name: 'brief', scopes: ['read'], expires });
    expect(openTokens(folders).authenticate(text)).not.to.equal(null);
    expect(openTokens(folders, () => Date.now() + 61_000).authenticate(text)).to.equal(null);
    expect(
      codeThrown(() => createToken(folders, { name: 'x', scopes: ['read'], expires: '2001-01-01' })),
    ).to.equal('token_expiry_invalid');
  });

  it('of a revoked person are not made again by themselves', () => {
    const own = ownToken(folders);
    revokeToken(folders, own.name);
    ensureTokens(folders);
    expect(codeThrown(() => ownToken(folders))).to.equal('token_missing');
    createToken(folders, { name: own.name, scopes: ['read'] });
    expect(ownToken(folders).scopes).to.deep.equal(['read']);
  });

  it('of an older installation learn the scopes that were added since, where they had all there were', () => {
    const own = ownToken(folders);
    const path = join(folders.tokens, 'registry.json');
    const setScopes = (scopes: readonly string[]) => {
      const registry = JSON.parse(readFileSync(path, 'utf8'));
      registry.tokens[0].scopes = scopes;
      writeFileSync(path, JSON.stringify(registry));
    };
    setScopes(['read', 'plan', 'approve', 'execute', 'admin']);
    ensureTokens(folders);
    expect(openTokens(folders).authenticate(own.text)?.scopes).to.include.members(['model', 'mint']);
    setScopes(['read', 'plan']);
    ensureTokens(folders);
    expect(openTokens(folders).authenticate(own.text)?.scopes).to.deep.equal(['read', 'plan']);
  });

  it('of core-agentd in an older installation learn to tell core-context what was planned', () => {
    const text = serviceToken(folders, 'agentd');
    const path = join(folders.tokens, 'registry.json');
    const setScopes = (scopes: readonly string[]) => {
      const registry = JSON.parse(readFileSync(path, 'utf8'));
      registry.tokens.find(({ name }: { name: string }) => name === 'agentd').scopes = scopes;
      writeFileSync(path, JSON.stringify(registry));
    };
    setScopes(['read', 'mint']);
    ensureTokens(folders);
    expect(openTokens(folders).authenticate(text)?.scopes).to.deep.equal(['read', 'plan', 'mint']);
    setScopes(['read']);
    ensureTokens(folders);
    expect(openTokens(folders).authenticate(text)?.scopes).to.deep.equal(['read']);
  });

  it('of a part of Core say how to make new ones where they are revoked', () => {
    const text = serviceToken(folders, 'agentd');
    expect(openTokens(folders).authenticate(text)).to.deep.equal({
      name: 'agentd',
      scopes: ['read', 'plan', 'mint'],
    });
    revokeToken(folders, 'agentd');
    expect(() => serviceToken(folders, 'agentd'))
      .to.throw(CoreError)
      .with.property(
        'hint',
        './core token revoke agentd; ./core token create agentd --scopes read,plan,mint',
      );
  });

  it('can be known to a part that has its own alone, and sees at once when one ends', () => {
    const whole = {
      tokens: join(temporaryFolder(), 'tokens'),
      registry: join(temporaryFolder(), 'registry'),
    };
    const text = serviceToken(whole, 'worker');
    expect(tokenAtHand(whole)).to.equal(ownToken(whole).text);
    const part = { tokens: temporaryFolder(), registry: whole.registry };
    writeFileSync(join(part.tokens, 'worker.token'), text, { mode: 0o600 });
    expect(tokenAtHand(part)).to.equal(text);
    expect(codeThrown(() => ownToken(part))).to.equal('token_missing');
    const tokens = openTokens({ tokens: temporaryFolder(), registry: whole.registry });
    expect(tokens.authenticate(text)?.name).to.equal('worker');
    revokeToken(whole, 'worker');
    expect(tokens.authenticate(text)).to.equal(null);
    expect(readdirSync(whole.tokens)).to.not.include('registry.json');
  });

  it('of which the one is at hand that can do what is wanted and least beside it', () => {
    const name = () => openTokens(folders).authenticate(leastToken(folders, ['read', 'plan']))?.name;
    createToken(folders, { name: 'reader', scopes: ['read', 'plan'] });
    expect(name()).to.equal('bridge');
    const minting = leastToken(folders, ['read', 'mint']);
    expect(openTokens(folders).authenticate(minting)?.name).to.equal('agentd');
    revokeToken(folders, 'bridge');
    expect(name()).to.equal('worker');
    revokeToken(folders, 'worker');
    expect(name()).to.equal('agentd');
    const part = { tokens: temporaryFolder(), registry: folders.tokens };
    const own = serviceToken(folders, 'agentd');
    writeFileSync(join(part.tokens, 'agentd.token'), own, { mode: 0o600 });
    expect(leastToken(part, ['read', 'plan'])).to.equal(own);
    revokeToken(folders, 'agentd');
    expect(name()).to.equal(ownToken(folders).name);
  });

  it('are never replaced by an installation that did not make them', () => {
    const stack = { tokens: join(root, 'stack/tokens'), registry: join(root, 'stack/registry') };
    const own = ownToken(stack);
    createToken(stack, { name: 'ci-bot', scopes: ['read'] });
    const texts = () =>
      readdirSync(stack.tokens)
        .filter((name) => name.endsWith('.token'))
        .map((name) => [name, readFileSync(join(stack.tokens, name), 'utf8')]);
    const before = texts();
    const withoutRegistry = { tokens: stack.tokens };
    for (const use of [ensureTokens, ownToken, tokenAtHand])
      expect(codeThrown(() => use(withoutRegistry))).to.equal('token_registry_missing');
    expect(texts()).to.deep.equal(before);
    expect(readdirSync(stack.tokens)).not.to.include('registry.json');

    const foreign = { tokens: stack.tokens, registry: join(root, 'other/registry') };
    ensureTokens({ tokens: join(root, 'other/tokens'), registry: foreign.registry });
    expect(codeThrown(() => createToken(foreign, { name: 'ci-bot', scopes: ['read'] }))).to.equal(
      'token_file_unknown',
    );
    expect(texts()).to.deep.equal(before);
    expect(openTokens(stack).authenticate(own.text)?.name).to.equal(own.name);
  });

  it('that a crash left without their registry are taken over, and other texts refused', () => {
    const { name, text } = ownToken(folders);
    rmSync(join(folders.tokens, 'registry.json'));
    expect(ownToken(folders).text).to.equal(text);
    expect(openTokens(folders).authenticate(text)?.name).to.equal(name);
    rmSync(join(folders.tokens, 'registry.json'));
    writeFileSync(join(folders.tokens, 'bridge.token'), 'mine\n');
    expect(codeThrown(() => ensureTokens(folders))).to.equal('token_file_unknown');
    expect(readFileSync(join(folders.tokens, 'bridge.token'), 'utf8')).to.equal('mine\n');
  });

  it('have names that cannot leave their folder', () => {
    for (const name of ['../x', 'a/b', '', 'A', 'a_b', '-a', 'x'.repeat(41)]) {
      expect(
        codeThrown(() => createToken(folders, { name, scopes: ['read'] })),
        name,
      ).to.equal('token_name_invalid');
    }
  });

  it('are refused when others can read them, or write beside them, with the fix named', () => {
    const own = ownToken(folders);
    const path = join(folders.tokens, `${own.name}.token`);
    chmodSync(path, 0o640);
    expect(() => ownToken(folders))
      .to.throw(CoreError, /has mode 0640: must be 0600/)
      .with.property('hint')
      .that.contains('chmod 600');
    chmodSync(path, 0o600);
    chmodSync(folders.tokens, 0o777);
    expect(codeThrown(() => openTokens(folders).authenticate(own.text))).to.equal('token_file_exposed');
    chmodSync(folders.tokens, 0o720);
    expect(() => openTokens(folders).list()).to.throw(
      CoreError,
      /has mode 0720: must not be writable by others/,
    );
    chmodSync(folders.tokens, 0o755);
    expect(openTokens(folders).authenticate(own.text)?.name).to.equal(own.name);
    chmodSync(folders.tokens, 0o700);
    chmodSync(join(folders.tokens, 'registry.json'), 0o604);
    expect(() => openTokens(folders).list()).to.throw(CoreError, /registry.json has mode 0604: must be 0600/);
    chmodSync(join(folders.tokens, 'registry.json'), 0o600);
    writeFileSync(join(folders.tokens, 'registry.json'), '{"tokens":[{"name":"x"}]}');
    expect(codeThrown(() => openTokens(folders).authenticate(own.text))).to.equal('token_registry_invalid');
  });

  it('are read from plain files alone, and an error of the disk is not taken for a missing file', () => {
    const own = ownToken(folders);
    const path = join(folders.tokens, `${own.name}.token`);
    rmSync(path);
    mkdirSync(path);
    expect(() => readTokenFile(path)).to.throw(CoreError, /is not a plain file/);
    expect(codeThrown(() => readTokenFile(join(path, 'x'.repeat(300))))).to.equal('token_file_unreadable');
    expect(readTokenFile(join(path, 'absent'))).to.equal(null);
    expect(registryVersion(join(root, 'nowhere'))).to.equal(null);
    expect(registryVersion(folders.tokens)).to.be.a('string');
  });
});
