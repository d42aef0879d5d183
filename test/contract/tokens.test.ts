import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { fileTokens, registeredOwnToken } from '#kit/tokens/open-registry.ts';
import { openPostgresTokens, type SharedOptions } from '#kit/tokens/postgres-tokens.ts';
import type { TokenRegistry } from '#kit/tokens/registry.ts';
import { readRegistry } from '#kit/tokens/token-files.ts';
import { fateOf } from '#kit/tokens/token-history.ts';
import { createToken, ensureTokens, revokeToken, rotateToken, serviceToken } from '#kit/tokens/tokens.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { describeTokens, type TokenFolders, withinMs } from './tokens.contract.ts';

function newFolders(): TokenFolders {
  const root = temporaryFolder();
  return { tokens: join(root, 'tokens'), registry: join(root, 'registry') };
}

function codeThrown(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return codeOf(error);
  }
  return 'nothing';
}

/** The answer of a registry; null while it cannot know: a host that was cut off can hold the database for some seconds. */
function answerOf<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (codeOf(error) === 'database_unavailable') return null;
    throw error;
  }
}

describeTokens('in files', async () => {
  const registry = join(temporaryFolder(), 'registry');
  const tokens = join(temporaryFolder(), 'tokens');
  return {
    folders: () => ({ tokens, registry }),
    open: async (folders) => fileTokens(folders),
    stored: async () => readFileSync(join(registry, 'registry.json'), 'utf8'),
    end: async () => {},
  };
});

describeWith(['postgres'], 'in PostgreSQL', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let opened: TokenRegistry[];

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    opened = [];
  });

  afterEach(() => end());

  async function open(folders: TokenFolders, options: SharedOptions = {}): Promise<TokenRegistry> {
    const registry = await openPostgresTokens(folders, settings, options);
    opened.push(registry);
    return registry;
  }

  async function end(): Promise<void> {
    await Promise.all(opened.splice(0).map((registry) => registry.close()));
  }

  describeTokens('in PostgreSQL', async () => ({
    folders: newFolders,
    open: (folders) => open(folders),
    async stored() {
      const rows = await server.ask(settings, 'SELECT row_to_json(tokens) AS record FROM tokens');
      return JSON.stringify(rows);
    },
    end,
  }));

  /** A host with tokens of its own. */
  async function host(name: string, person = name, options: SharedOptions = {}) {
    const folders = newFolders();
    ensureTokens(folders, person);
    return { folders, registry: await open(folders, { host: name, ...options }) };
  }

  it('knows the service of each host by the same name, and ends that of one host alone', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const texts = [serviceToken(a.folders, 'worker'), serviceToken(b.folders, 'worker')];
    await until('both', () => texts.every((text) => a.registry.authenticate(text)?.name === 'worker'));
    expect((await a.registry.revoke('worker')).elsewhere).to.deep.equal(['beta']);
    await until('the end', () => b.registry.authenticate(texts[0]!) === null);
    expect(b.registry.authenticate(texts[1]!)?.name).to.equal('worker');
    expect(codeThrown(() => serviceToken(a.folders, 'worker'))).to.equal('token_missing');
    const unknown = await failure(a.registry.revoke('worker', 'gamma'));
    expect(codeOf(unknown)).to.equal('token_not_found');
    expect(String(unknown)).to.contain('"gamma"').and.contain('alpha, beta');
    const { text } = await a.registry.create({ name: 'worker', scopes: ['read', 'plan'] });
    await until('the new one', () => b.registry.authenticate(text)?.name === 'worker');
    expect(
      a.registry
        .list()
        .find((record) => record.revoked === null && record.host === 'alpha' && record.name === 'worker')
        ?.kind,
    ).to.equal('service');
  });

  it('tells the host whose token was revoked from another, so that it says so itself', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const text = serviceToken(b.folders, 'agentd');
    await until('its registration', () => a.registry.authenticate(text) !== null);
    await a.registry.revoke('agentd', 'beta');
    await until('the registry of beta', () =>
      readRegistry(b.folders.registry)!.records.some(
        ({ name, revoked }) => name === 'agentd' && revoked !== null,
      ),
    );
    expect(codeThrown(() => serviceToken(b.folders, 'agentd'))).to.equal('token_missing');
  });

  for (const [when, cut] of [
    ['does not arrive', 'cutBefore'],
    ['arrives late', 'cutBefore'],
    ['is not answered', 'cutAfter'],
  ] as const)
    it(`makes no token where it says so because a commit ${when}`, async () => {
      const proxy = await startCuttingProxy(settings);
      const near = await host('alpha');
      const cutOff = await openPostgresTokens(near.folders, proxy.settings, { host: 'alpha' });
      opened.push(cutOff);
      proxy[cut]('COMMIT');
      const refused = await failure(cutOff.create({ name: 'ci', scopes: ['read'] }));
      expect(codeOf(refused)).to.equal('database_unavailable');
      if (when === 'arrives late') await proxy.sendLate();
      const known = () => answerOf(() => near.registry.list())?.find(({ name }) => name === 'ci');
      await until('its record', known);
      await until('its end', () => known()?.revoked);
      const { text } = await near.registry.create({ name: 'ci', scopes: ['read', 'plan'] });
      expect(near.registry.authenticate(text)?.scopes).to.deep.equal(['read', 'plan']);
      await proxy.close();
    });

  for (const [when, cut] of [
    ['does not arrive', 'cutBefore'],
    ['arrives late', 'cutBefore'],
    ['is not answered', 'cutAfter'],
  ] as const)
    it(`completes a rotation later where a commit ${when}, and no text opens beside the other`, async () => {
      const proxy = await startCuttingProxy(settings);
      const near = await host('alpha');
      const before = await near.registry.create({ name: 'ci', scopes: ['read'] });
      const cutOff = await openPostgresTokens(near.folders, proxy.settings, { host: 'alpha' });
      opened.push(cutOff);
      proxy[cut]('COMMIT');
      expect(codeOf(await failure(cutOff.rotate({ name: 'ci' })))).to.equal('database_unavailable');
      if (when === 'arrives late') await proxy.sendLate();
      const text = readFileSync(join(near.folders.tokens, 'ci.token'), 'utf8').trim();
      expect(text).not.to.equal(before.text);
      await until('the rotation', () => {
        const opens = answerOf(() =>
          [before.text, text].filter((one) => near.registry.authenticate(one) !== null),
        );
        if (opens !== null) expect(opens).to.have.length(1);
        return opens?.[0] === text;
      });
      const fate = fateOf(near.registry.list(), 'ci', before.record.sha256);
      expect(fate?.rotations).to.have.length(1);
      await proxy.close();
    });

  it('does not complete a rotation of a token that was revoked meanwhile', async () => {
    const a = await host('alpha');
    const { record } = await a.registry.create({ name: 'ci', scopes: ['read'] });
    await end();
    rotateToken(a.folders, { name: 'ci' });
    const other = await host('beta');
    await other.registry.revoke('ci');
    const again = await open(a.folders, { host: 'alpha' });
    expect(fateOf(again.list(), 'ci', record.sha256)?.revoked).to.be.a('string');
    const own = readRegistry(a.folders.registry)!.records.find(({ name }) => name === 'ci');
    expect(own?.revoked).to.be.a('string');
  });

  it('rotates a token that another host made, and ends its copy there', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const first = await a.registry.create({ name: 'ci', scopes: ['read'] });
    await until('its registration', () => b.registry.authenticate(first.text) !== null);
    const second = await b.registry.rotate({ name: 'ci' });
    await until('the rotation', () => a.registry.authenticate(second.text) !== null);
    await until('the end of the copy', () => !existsSync(first.path));
    expect(a.registry.authenticate(first.text)).to.equal(null);
    expect(fateOf(a.registry.list(), 'ci', first.record.sha256)?.revoked).to.equal(null);
  });

  it('makes another token of a service after it was revoked, beside that of another host', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    await a.registry.revoke('bridge');
    const { text } = await a.registry.create({ name: 'bridge', scopes: ['read', 'plan'] });
    const rotated = await a.registry.rotate({ name: 'bridge' });
    await until('the new one', () => b.registry.authenticate(rotated.text)?.name === 'bridge');
    expect([a.registry.authenticate(text), serviceToken(a.folders, 'bridge')]).to.deep.equal([
      null,
      rotated.text,
    ]);
    expect(a.registry.authenticate(serviceToken(b.folders, 'bridge'))?.name).to.equal('bridge');
  });

  it('registers what a host makes and revokes in its own files while it runs', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const { text } = createToken(a.folders, { name: 'ci', scopes: ['read'] });
    await until('the registration', () => b.registry.authenticate(text)?.name === 'ci');
    revokeToken(a.folders, 'ci');
    await until('the revocation', () => b.registry.authenticate(text) === null);
  });

  it('takes no name from the token of another host, whether that was revoked or not, and says which', async () => {
    const a = await host('alpha', 'mira');
    const warnings: string[] = [];
    const b = await host('beta', 'mira', { warn: (message) => warnings.push(message) });
    const text = (folders: TokenFolders) => readFileSync(join(folders.tokens, 'mira.token'), 'utf8').trim();
    expect(b.registry.authenticate(text(b.folders))).to.equal(null);
    expect(warnings.join()).to.contain('mira').and.contain('has others of these names');
    await until('the name', () => b.registry.authenticate(text(a.folders))?.name === 'mira');
    const exists = await failure(b.registry.create({ name: 'mira', scopes: ['read'] }));
    expect(codeOf(exists)).to.equal('token_exists');
    expect(String(exists)).to.contain('made on alpha');
    await a.registry.revoke('mira');
    const c = await host('gamma', 'mira');
    expect(c.registry.authenticate(text(c.folders))).to.equal(null);
    expect(c.registry.list().filter(({ name }) => name === 'mira')).to.have.length(1);
    // On purpose it goes.
    await b.registry.revoke('mira');
    const made = await b.registry.create({ name: 'mira', scopes: ['read'] });
    await until('the new one', () => a.registry.authenticate(made.text)?.scopes.join() === 'read');
  });

  it('registers a text once that several hosts have a copy of', async () => {
    const a = await host('alpha');
    const b = await open(a.folders, { host: 'beta' });
    expect(b.list().map(({ name, host }) => `${name} ${host}`)).to.deep.equal(
      ['alpha', 'bridge', 'worker', 'agentd'].map((name) => `${name} alpha`),
    );
  });

  it('knows the own token of a host that was made after the registry was opened', async () => {
    const folders = newFolders();
    const registry = await open(folders, { host: 'alpha' });
    ensureTokens(folders);
    expect((await registeredOwnToken(folders as Folders, registry)).scopes).to.include('approve');
  });

  it('looks at once for a token that it does not know, and not for what cannot be one', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const { text } = await a.registry.create({ name: 'ci', scopes: ['read'] });
    await b.registry.lookUp!(text);
    expect(b.registry.authenticate(text)?.name).to.equal('ci');
    expect([b.registry.lookUp!(text), b.registry.lookUp!('wrong')]).to.deep.equal([null, null]);
    const wrong = [1, 2, 3].map((digit) => b.registry.lookUp!(`core_ci_${`${digit}`.repeat(48)}`));
    expect(new Set(wrong).size, 'looks').to.equal(1);
    await wrong[0];
  });

  it('can be waited for by a process that stood still, and not for long while the database is away', async () => {
    const own = await startPostgres();
    settings = await own.database();
    const { registry } = await host('alpha');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_100);
    expect(codeThrown(() => registry.list())).to.equal('database_unavailable');
    await registry.fresh!();
    expect(registry.list()).not.to.deep.equal([]);
    await own.crash();
    await until('the end of what it knows', () => codeThrown(() => registry.list()) !== 'nothing');
    const before = performance.now();
    await registry.fresh!();
    expect(performance.now() - before).to.be.within(4_900, 60_000);
    expect(codeThrown(() => registry.list())).to.equal('database_unavailable');
    await own.restart();
    await registry.fresh!();
    await until('the database', () => codeThrown(() => registry.list()) === 'nothing');
    await end();
    await own.stop();
  });

  it('goes by the clock of the database, whatever that of a host says', async () => {
    const real = Date.now;
    try {
      Date.now = () => real() + 300_000;
      const ahead = await host('ahead');
      const { text } = await ahead.registry.create({
        name: 'brief',
        scopes: ['read'],
        expires: new Date(real() + 2_000).toISOString(),
      });
      Date.now = () => real() - 300_000;
      const behind = await host('behind');
      expect(behind.registry.authenticate(text)?.name).to.equal('brief');
      expect(ahead.registry.authenticate(text)?.name).to.equal('brief');
      const sides = [ahead, behind];
      await until('the expiry', () => sides.every(({ registry }) => registry.authenticate(text) === null));
      expect(Math.abs(behind.registry.now() - real())).to.be.below(60_000);
    } finally {
      Date.now = real;
    }
  });

  it('sees each of twenty revocations within a second', async () => {
    const [a, b] = [await host('alpha'), await host('beta')];
    const delays: number[] = [];
    for (let round = 0; round < 20; round++) {
      const { text } = await a.registry.create({ name: `ci-${round}`, scopes: ['read'] });
      await until('it', () => b.registry.authenticate(text) !== null);
      await a.registry.revoke(`ci-${round}`);
      const revoked = performance.now();
      await until('its end', () => b.registry.authenticate(text) === null);
      delays.push(performance.now() - revoked);
    }
    expect(Math.max(...delays)).to.be.below(withinMs);
  });
});

describeWith(['postgres'], 'tokens while the database is away', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let opened: TokenRegistry[] = [];

  beforeEach(async () => {
    // One that can be stopped.
    server = await startPostgres(['max_connections=50']);
    settings = await server.database();
    opened = [];
  });

  afterEach(async () => {
    await Promise.all(opened.map((registry) => registry.close()));
    await server.stop();
  });

  it('open for five seconds what they did, then nothing, and all again when it is back', async () => {
    const folders = newFolders();
    ensureTokens(folders, 'mira');
    const registry = await openPostgresTokens(folders, settings, { host: 'alpha' });
    opened.push(registry);
    const text = serviceToken(folders, 'bridge');
    expect(registry.authenticate(text)?.name).to.equal('bridge');
    await server.crash();
    const away = performance.now();
    expect(registry.authenticate(text)?.name).to.equal('bridge');
    let error: unknown;
    await until('the refusal', () => {
      try {
        registry.authenticate(text);
      } catch (thrown) {
        error = thrown;
      }
      return error !== undefined;
    });
    expect(performance.now() - away).to.be.within(4_000, 60_000);
    expect(codeOf(error)).to.equal('database_unavailable');
    expect(String(error)).to.contain('tokens cannot be checked');
    // Whoever starts now waits for it too, and makes no token that nobody would know.
    const late = await openPostgresTokens(newFolders(), settings, { host: 'beta' });
    opened.push(late);
    const refused = await late.create({ name: 'ci', scopes: ['read'] }).catch((thrown) => thrown);
    expect(codeOf(refused)).to.equal('database_unavailable');
    await server.restart();
    await until('both', () => {
      try {
        return registry.authenticate(text) !== null && late.authenticate(text) !== null;
      } catch {
        return false;
      }
    });
    await registry.revoke('bridge');
    await until('the revocation', () => late.authenticate(text) === null);
  });

  it('open nothing by what a standby says, which may not have heard of a revocation', async () => {
    const folders = newFolders();
    ensureTokens(folders, 'mira');
    const registry = await openPostgresTokens(folders, settings, { host: 'alpha' });
    opened.push(registry);
    const [{ folder } = { folder: '' }] = await server.ask<{ folder: string }>(
      settings,
      "SELECT current_setting('data_directory') AS folder",
    );
    await server.crash();
    writeFileSync(join(folder, 'standby.signal'), '');
    await server.restart();
    const refusal = () => {
      try {
        registry.list();
        return '';
      } catch (error) {
        return String(error);
      }
    };
    await until(refusal, () => refusal().includes('is a standby'));
    const late = await openPostgresTokens(folders, settings, { host: 'alpha' });
    opened.push(late);
    expect(codeThrown(() => late.list())).to.equal('database_unavailable');
    rmSync(join(folder, 'standby.signal'));
    await server.crash();
    await server.restart();
    await until('the primary', () => refusal() === '');
  });
});
