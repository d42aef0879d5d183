import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { itWith } from '../../../test/needs.ts';
import { sha256 } from '../digest.ts';
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
  rotateToken,
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
    expect(tokens.authenticate(own.text)).to.deep.equal({
      name: own.name,
      scopes: own.scopes,
      token: own.token,
    });
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
      former: undefined,
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
    expect(tokens.authenticate(text)).to.deep.equal({
      name: 'ci-bot',
      scopes: ['plan'],
      token: sha256(text),
    });
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

  it('are rotated by one step: killed before it the old one counts, after it the new one, and never both', async () => {
    ensureTokens(folders, 'mira');
    const tokens = openTokens(folders);
    const script = `import { rotateToken } from ${JSON.stringify(import.meta.resolve('./tokens.ts'))};
      rotateToken({ tokens: ${JSON.stringify(folders.tokens)} }, { name: 'mira' });`;
    const killedAt = async (point: string) => {
      const env = { ...process.env, CORE_CRASH_AT: point };
      const error = await run(process.execPath, ['--input-type=module', '-e', script], { env }).catch(
        (e) => e,
      );
      expect(error.signal).to.equal('SIGKILL');
    };
    const before = ownToken(folders);
    await killedAt('token.rotation.text_kept');
    expect(tokens.authenticate(before.text)?.name).to.equal('mira');
    expect(ownToken(folders).text).to.equal(before.text);
    await killedAt('token.registered');
    expect(tokens.authenticate(before.text)).to.equal(null);
    const after = ownToken(folders);
    expect(tokens.authenticate(after.text)?.name).to.equal('mira');
    expect(tokens.list().find(({ name }) => name === 'mira')?.former).to.have.length(1);
    expect(readdirSync(folders.tokens).filter((name) => name.endsWith('.next'))).to.deep.equal([]);
  });

  it('give way to a new one after they expired, which is remembered', () => {
    const first = createToken(folders, { name: 'ci', scopes: ['read'], expires: '2099-01-01T00:00:00.000Z' });
    const later = Date.parse('2099-01-02T00:00:00.000Z');
    expect(codeThrown(() => rotateToken(folders, { name: 'ci' }, later))).to.equal('token_not_in_force');
    const { record } = createToken(folders, { name: 'ci', scopes: ['read'] }, later);
    const ended = { ended: 'expired', at: '2099-01-01T00:00:00.000Z' };
    expect(record.former).to.deep.equal([
      { sha256: first.record.sha256, created: first.record.created, ...ended },
    ]);
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

  it('of core-agentd in an older installation get the scope to report plans to core-context', () => {
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
    expect(openTokens(folders).authenticate(text)).to.deep.include({
      name: 'agentd',
      scopes: ['read', 'plan', 'mint'],
    });
    revokeToken(folders, 'agentd');
    expect(() => serviceToken(folders, 'agentd'))
      .to.throw(CoreError)
      .with.property('hint', './core token create agentd --scopes read,plan,mint');
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
    const { ino } = statSync(join(folders.tokens, `${name}.token`));
    expect(ownToken(folders).text).to.equal(text);
    expect(openTokens(folders).authenticate(text)?.name).to.equal(name);
    expect(statSync(join(folders.tokens, `${name}.token`)).ino, 'written again').to.equal(ino);
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
    mkdirSync(path, { mode: 0o700 });
    expect(() => readTokenFile(path)).to.throw(CoreError, /is not a plain file/);
    expect(codeThrown(() => readTokenFile(join(path, 'x'.repeat(300))))).to.equal('token_file_unreadable');
    expect(readTokenFile(join(path, 'absent'))).to.equal(null);
    expect(registryVersion(join(root, 'nowhere'))).to.equal(null);
    expect(registryVersion(folders.tokens)).to.be.a('string');
  });

  itWith(['linux'], 'are refused by name where their file cannot be read', () => {
    // A plain file of mode 0600 that gives an error at its first byte.
    expect(codeThrown(() => readTokenFile('/proc/self/mem'))).to.equal('token_file_unreadable');
  });

  /** Changes the registry as another version, or time, would have left it. */
  function edit(name: string, change: object): void {
    const path = join(folders.tokens, 'registry.json');
    const { tokens } = JSON.parse(readFileSync(path, 'utf8')) as { tokens: { name: string }[] };
    const edited = tokens.map((token) => (token.name === name ? { ...token, ...change } : token));
    writeFileSync(path, JSON.stringify({ tokens: edited }));
  }
  const all = 'read,plan,approve,execute,admin,model,mint';
  const past = '2001-01-01T00:00:00.000Z';
  const ci = { name: 'ci', scopes: ['read'] as const };
  const fileOf = (name: string) => join(folders.tokens, `${name}.token`);
  const foreign = () => ({ tokens: folders.tokens, registry: join(root, 'registry') });

  const refusals: Readonly<Record<string, [() => unknown, () => object]>> = {
    'a token without scopes': [
      () => createToken(folders, { name: 'ci', scopes: [] }),
      () => ({
        code: 'token_scopes_missing',
        message: `token ci has no scope: must have some of ${all.replaceAll(',', ', ')}`,
      }),
    ],
    'one that has expired': [
      () => createToken(folders, { ...ci, expires: past }),
      () => ({
        code: 'token_expiry_invalid',
        message: `token ci would expire at ${past}: must be in the future`,
      }),
    ],
    'a second one of a name': [
      () => [createToken(folders, ci), createToken(folders, ci)],
      () => ({
        code: 'token_exists',
        message: 'token ci exists already',
        hint: './core token rotate ci gives it a new text and keeps its approvals. To take it away from its owner: ./core token revoke ci; its approvals then no longer count, also if you create ci again.',
      }),
    ],
    'to revoke where there is none': [
      () => revokeToken(folders, 'x'),
      () => ({ code: 'token_not_found', message: 'there is no token "x"; known are none' }),
    ],
    'to revoke an unknown one': [
      () => [createToken(folders, ci), createToken(folders, { ...ci, name: 'b' }), revokeToken(folders, 'x')],
      () => ({ code: 'token_not_found', message: 'there is no token "x"; known are ci, b' }),
    ],
    'the file of a name that the registry does not know': [
      () => {
        createToken(folders, ci);
        createToken(foreign(), ci);
      },
      () => ({
        code: 'token_file_unknown',
        message: `${fileOf('ci')} holds a token that ${foreign().registry} does not know: must be one that was made with it, or not be there`,
        facts: { path: fileOf('ci') },
        hint: 'Set CORE_REGISTRY_DIR to the folder of its registry.json, or move the file away.',
      }),
    ],
    'a text that is no token': [
      () => {
        mkdirSync(folders.tokens, { mode: 0o700 });
        writeFileSync(fileOf('bridge'), 'mine', { mode: 0o600 });
        ensureTokens(folders);
      },
      () => ({ code: 'token_file_unknown', facts: { path: fileOf('bridge') } }),
    ],
    'a first start beside tokens of another registry': [
      () => {
        for (const name of ['ci', 'b']) createToken(folders, { ...ci, name });
        rmSync(fileOf('b'));
        ensureTokens(foreign());
      },
      () => ({
        code: 'token_registry_missing',
        message: `${folders.tokens} holds tokens (ci), and no registry.json in ${foreign().registry} knows them`,
        facts: { folder: folders.tokens },
        hint: 'Set CORE_REGISTRY_DIR to the folder of the registry.json that they were made with; for the containers of compose.yaml that is secrets/registry.',
      }),
    ],
    'a service whose token expired': [
      () => {
        ensureTokens(folders);
        edit('worker', { expires: past });
        serviceToken(folders, 'worker');
      },
      () => ({
        code: 'token_missing',
        message: `this installation has no token in force in ${fileOf('worker')}`,
        hint: './core token create worker --scopes read,plan',
      }),
    ],
    'a service whose file is gone': [
      () => {
        ensureTokens(folders);
        rmSync(fileOf('worker'));
        serviceToken(folders, 'worker');
      },
      () => ({ code: 'token_missing' }),
    ],
    'a person whose file is gone, though the token is in force': [
      () => {
        ensureTokens(folders, 'Mira');
        rmSync(fileOf('mira'));
        ownToken(folders);
      },
      () => ({
        code: 'token_missing',
        message: `this installation has no token in force in ${fileOf('mira')}`,
        hint: './core token rotate mira writes a new one into this file and keeps its approvals.',
      }),
    ],
    'a person whose token expired': [
      () => {
        ensureTokens(folders, 'Mira');
        edit('mira', { expires: past });
        ownToken(folders);
      },
      () => ({ code: 'token_missing', hint: `./core token create mira --scopes ${all}` }),
    ],
    'a file that others can read': [
      () => {
        ensureTokens(folders);
        chmodSync(fileOf('agentd'), 0o601);
        readTokenFile(fileOf('agentd'));
      },
      () => ({
        code: 'token_file_exposed',
        message: `${fileOf('agentd')} has mode 0601: must be 0600, readable by its owner alone`,
        facts: { path: fileOf('agentd'), mode: '0601' },
        hint: `chmod 600 '${fileOf('agentd')}'; if others may have read it, make a new one with ./core token create.`,
      }),
    ],
    'a folder that others can write to': [
      () => {
        ensureTokens(folders);
        chmodSync(folders.tokens, 0o703);
        openTokens(folders).list();
      },
      () => ({
        code: 'token_file_exposed',
        message: `${folders.tokens} has mode 0703: must not be writable by others than its owner`,
        facts: { path: folders.tokens, mode: '0703' },
        hint: `chmod 700 '${folders.tokens}'`,
      }),
    ],
    'a link in place of a file': [
      () => {
        ensureTokens(folders);
        symlinkSync(fileOf('agentd'), fileOf('x'));
        readTokenFile(fileOf('x'));
      },
      () => ({
        code: 'token_file_exposed',
        message: `${fileOf('x')} is not a plain file: must be one that only its owner can read`,
      }),
    ],
  };
  for (const [what, [work, expected]] of Object.entries(refusals)) {
    it(`refuse with the reason and what to do: ${what}`, () => {
      let thrown: unknown;
      try {
        work();
      } catch (error) {
        thrown = error;
      }
      expect(thrown).to.be.instanceOf(CoreError);
      for (const [name, value] of Object.entries(expected()))
        expect((thrown as Record<string, unknown>)[name], name).to.deep.equal(value);
    });
  }

  it('of a person who is called like a service have a name of their own', () => {
    ensureTokens(folders, 'Bridge');
    expect(
      openTokens(folders)
        .list()
        .map(({ name }) => name),
    ).to.deep.equal(['bridge-person', 'bridge', 'worker', 'agentd']);
    ensureTokens({ tokens: join(root, 'other') }, 'Mira 2');
    expect(openTokens({ tokens: join(root, 'other') }).list()[0]!.name).to.equal('mira-2');
  });

  it('are revoked once: a second time keeps the date of the first, also where the file is gone', () => {
    const { path, text } = createToken(folders, ci);
    expect(readFileSync(path, 'utf8')).to.equal(`${text}\n`);
    rmSync(path);
    revokeToken(folders, 'ci');
    edit('ci', { revoked: past });
    expect(revokeToken(folders, 'ci').revoked).to.equal(past);
    expect(openTokens(folders).list()[0]!.revoked).to.equal(past);
  });

  it('of an installation that has them all are not written again, and the one that is missing is made', () => {
    ensureTokens(folders);
    const registry = join(folders.tokens, 'registry.json');
    const before = statSync(registry).ino;
    ensureTokens(folders);
    expect(statSync(registry).ino).to.equal(before);
    const { tokens: records, ...rest } = JSON.parse(readFileSync(registry, 'utf8'));
    const others = records.filter((record: TokenRecord) => record.name !== 'worker');
    writeFileSync(registry, JSON.stringify({ ...rest, tokens: others }));
    rmSync(join(folders.tokens, 'worker.token'));
    ensureTokens(folders);
    const names = openTokens(folders)
      .list()
      .map(({ name }) => name);
    expect(names).to.include('worker').and.have.length(records.length);
  });

  it('are replaced by new ones of their name once they expired', () => {
    createToken(folders, ci);
    edit('ci', { expires: past });
    createToken(folders, { ...ci, scopes: ['plan'] });
    expect(
      openTokens(folders)
        .list()
        .map(({ scopes }) => scopes),
    ).to.deep.equal([['plan']]);
  });

  it('that lack any scope of an earlier version were limited on purpose, and stay so', () => {
    ensureTokens(folders, 'mira');
    const earlier = ['read', 'plan', 'approve', 'execute', 'admin'];
    const limited = [
      ...earlier.map((one) => ['mira', earlier.filter((scope) => scope !== one)] as const),
      ...['read', 'mint'].map((one) => ['agentd', [one]] as const),
    ];
    for (const [name, scopes] of limited) {
      edit(name, { scopes });
      ensureTokens(folders);
      const record = openTokens(folders)
        .list()
        .find((token) => token.name === name);
      expect(record?.scopes).to.deep.equal(scopes);
    }
    const other = { tokens: join(root, 'other') };
    mkdirSync(other.tokens, { mode: 0o700 });
    const { text } = createToken(other, { name: 'agentd', scopes: ['read', 'mint'] });
    ensureTokens(other);
    expect(openTokens(other).authenticate(text)?.scopes, 'named by a person').to.deep.equal(['read', 'mint']);
  });

  it('wait for their new scopes where their folder cannot be written, and missing ones are refused', () => {
    ensureTokens(folders, 'mira');
    writeFileSync(join(root, 'plain'), '');
    const part = { tokens: join(root, 'plain/tokens'), registry: folders.tokens };
    edit('agentd', { scopes: ['read', 'mint'] });
    ensureTokens(part);
    expect(openTokens(part).list().at(-1)?.scopes).to.deep.equal(['read', 'mint']);
    edit('worker', { name: 'other' });
    expect(codeThrown(() => ensureTokens(part))).to.equal('config_not_writable');
    const withoutRegistry = { tokens: folders.tokens, registry: join(root, 'plain/registry') };
    expect(codeThrown(() => createToken(withoutRegistry, ci))).to.equal('config_not_writable');
  });

  it('do not wait for their new scopes where anything else is wrong with their folder', () => {
    ensureTokens(folders, 'mira');
    edit('agentd', { scopes: ['read', 'mint'] });
    rmSync(join(folders.tokens, '.lock'), { force: true });
    mkdirSync(join(folders.tokens, '.lock'));
    expect(() => ensureTokens(folders)).to.throw('unable to open database file');
  });

  it('keep the time that they were made at, which a registry must say', () => {
    createToken(folders, ci);
    const made = openTokens(folders).list()[0]!.created;
    expect(new Date(made).toISOString()).to.equal(made);
    edit('ci', { created: past });
    createToken(folders, { ...ci, name: 'b' });
    expect(openTokens(folders).list()[0]!.created).to.equal(past);
    edit('ci', { created: undefined });
    expect(codeThrown(() => openTokens(folders).list())).to.equal('token_registry_invalid');
  });

  it('are read again only when the registry changed, and are none without one', () => {
    const tokens = openTokens(folders);
    expect(tokens.list()).to.deep.equal([]);
    const { text } = createToken(folders, ci);
    expect(tokens.list()).to.equal(tokens.list()).and.to.have.length(1);
    rmSync(join(folders.tokens, 'registry.json'));
    expect(tokens.authenticate(text)).to.equal(null);
    expect(tokens.list()).to.deep.equal([]);
  });

  it('with a text that is not theirs are passed over, and none that can do it leaves the person’s', () => {
    ensureTokens(folders, 'mira');
    writeFileSync(fileOf('bridge'), readFileSync(fileOf('agentd')));
    expect(leastToken(folders, ['plan'])).to.equal(serviceToken(folders, 'worker'));
    edit('mira', { scopes: ['read'] });
    expect(leastToken(folders, ['approve'])).to.equal(ownToken(folders).text);
  });

  it('may have names of one to forty letters, digits and hyphens, and no other', () => {
    for (const name of ['0', 'a1-', 'x'.repeat(40)])
      expect(createToken(folders, { ...ci, name }).record.name).to.equal(name);
    expect(() => createToken(folders, { ...ci, name: 'A' })).to.throw(
      CoreError,
      'token name: / is "A": must be lower-case letters, digits and hyphens, at most 40, starting with a letter or digit; for example ci-bot',
    );
    expect(isTokenText(`xore_ci_${'a'.repeat(48)}`, 'ci')).to.equal(false);
  });
});
