import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { embeddedStack, withFreePorts } from './embedded-services.ts';

describe('The embedded stack', () => {
  const plain = {
    ...environment,
    ...{ CORE_AGENTD_URL: undefined, CORE_CONTEXT_URL: undefined, CORE_MODELS_URL: undefined },
    ...{ CORE_BRIDGE_URL: undefined, CORE_BUS_URL: undefined },
  };
  const home = () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'config'));
    return resolveFolders({ home: folder }, plain);
  };

  it('refuses one port for two services', () => {
    const same = () => embeddedStack(home(), { bridgePort: 8090 }, plain);
    expect(same)
      .to.throw('port 8090 is for core-context and for core-bridge: must be another for each')
      .with.property('hint')
      .that.contains('--bridge-port or CORE_BRIDGE_PORT');
    expect(same).to.throw().with.property('code', 'config_invalid');
    expect(embeddedStack(home(), { bridgePort: 8090, without: 'context' }, plain).services).to.have.length(5);
  });

  it('gives every service the addresses of all others', async () => {
    const flags = await withFreePorts({ port: 0, busPort: '0', busHttpPort: 0, bridgePort: 4001 });
    const { services, left } = embeddedStack(home(), flags, plain);
    expect(left).to.deep.equal([]);
    expect(flags.port).to.be.a('number').and.to.be.greaterThan(0);
    for (const { environment } of services) {
      expect(environment).to.include({
        CORE_AGENTD_PORT: String(flags.port),
        CORE_BUS_PORT: String(flags.busPort),
        CORE_BUS_HTTP_PORT: String(flags.busHttpPort),
        CORE_BRIDGE_URL: 'http://127.0.0.1:4001',
        CORE_CONTEXT_URL: 'http://127.0.0.1:8090',
        CORE_MODELS_URL: 'http://127.0.0.1:8092',
      });
    }
    const places = services.map(({ name, http, socket }) => [name, http?.port ?? null, socket?.port ?? null]);
    expect(Object.fromEntries(places.map(([name, http]) => [name, http]))).to.deep.equal({
      'core-bus-engine': flags.busHttpPort,
      'core-context': 8090,
      'core-model-gateway': 8092,
      'core-agentd': flags.port,
      'core-bus-worker': null,
      'core-bridge': 4001,
    });
  });

  it('starts no engine if the bus is elsewhere, and says where', () => {
    const folders = home();
    writeFileSync(join(folders.config, 'bus.json'), '{"url":"ws://127.0.0.1:5000"}');
    const { services, left } = embeddedStack(folders, { busPort: 4002 }, plain);
    expect(left).to.deep.equal([
      {
        name: 'core-bus-engine',
        why: `the bus is ws://127.0.0.1:5000 (${join(folders.config, 'bus.json')})`,
      },
    ]);
    for (const { environment } of services) expect(environment).to.not.have.property('CORE_BUS_PORT');
  });

  it('leaves the ports of the engine to the iii that an address puts in its place, the same address included', () => {
    const folders = home();
    for (const url of ['ws://127.0.0.1:49134', 'ws://localhost:49134/', 'wss://bus.example']) {
      const { services, left } = embeddedStack(folders, {}, { ...plain, CORE_BUS_URL: url });
      expect(left).to.deep.equal([{ name: 'core-bus-engine', why: `the bus is ${url} (CORE_BUS_URL)` }]);
      const ports = services.flatMap(({ http, socket }) => [http?.port, socket?.port]);
      expect(ports).to.not.include.members([49134]).and.to.not.include.members([3111]);
    }
  });

  /** As several hosts have it, by a database and a bucket. */
  function sharing(folders: ReturnType<typeof home>, url: string | null): void {
    const s3 = {
      ...{ endpoint: 'https://s3.example.org', bucket: 'core' },
      ...{ access_key_id_file: '/id', secret_access_key_file: '/secret' },
    };
    const storage = { kind: 'postgres', url: 'postgres://core@db.example.org/core', s3 };
    writeFileSync(join(folders.config, 'core.json'), JSON.stringify({ context: { url }, storage }));
  }

  it('starts core-context behind the proxy of a record that hosts share, and leaves clients to the proxy', () => {
    const folders = home();
    sharing(folders, 'https://context.example.org/');
    for (const contextPort of [undefined, 8190]) {
      const { services, left, behind } = embeddedStack(folders, { contextPort }, plain);
      expect(left).to.deep.equal([]);
      const where = join(folders.config, 'core.json');
      expect(behind).to.deep.equal([{ name: 'core-context', url: 'https://context.example.org', where }]);
      for (const { environment } of services) {
        expect(environment).to.include({ CORE_CONTEXT_PORT: String(contextPort ?? 8090) });
        expect(environment).to.not.have.property('CORE_CONTEXT_URL');
      }
    }
    expect(embeddedStack(folders, { without: 'context' }, plain).behind).to.deep.equal([]);
    sharing(folders, null);
    expect(embeddedStack(folders, {}, plain).left.map(({ name }) => name)).to.deep.equal(['core-context']);
  });

  it('starts no core-context with a record of its own beside the one that clients are given', () => {
    const folders = home();
    const given = { ...plain, CORE_CONTEXT_URL: 'https://context.example.org' };
    const why = 'context.url is https://context.example.org (CORE_CONTEXT_URL), not http://127.0.0.1:8090';
    const { left, behind } = embeddedStack(folders, {}, given);
    expect([left, behind]).to.deep.equal([[{ name: 'core-context', why }], []]);
    const own = embeddedStack(folders, { contextPort: 8190 }, given);
    expect(own.left).to.deep.equal([]);
    for (const { environment } of own.services)
      expect(environment.CORE_CONTEXT_URL).to.equal('http://127.0.0.1:8190');
  });

  it('starts services that are behind a proxy, and leaves clients to it', () => {
    const folders = home();
    const urls = {
      CORE_AGENTD_URL: 'https://core.example.org',
      CORE_MODELS_URL: 'https://models.example.org',
      CORE_BRIDGE_URL: 'https://bridge.example.org',
    };
    const { services, left, behind } = embeddedStack(folders, {}, { ...plain, ...urls });
    expect(left).to.deep.equal([]);
    expect(behind.map(({ name, where }) => [name, where])).to.deep.equal([
      ['core-model-gateway', 'CORE_MODELS_URL'],
      ['core-agentd', 'CORE_AGENTD_URL'],
      ['core-bridge', 'CORE_BRIDGE_URL'],
    ]);
    for (const { environment } of services) {
      expect(environment).to.include({ CORE_AGENTD_PORT: '7817', CORE_CONTEXT_URL: 'http://127.0.0.1:8090' });
      expect(environment).to.not.have.any.keys(Object.keys(urls));
    }
    const own = embeddedStack(folders, { port: 4003 }, { ...plain, ...urls });
    expect(own.services[0]!.environment.CORE_AGENTD_URL).to.equal('http://127.0.0.1:4003');
  });

  it('does not answer for what it leaves out', () => {
    const { services, left } = embeddedStack(home(), { without: 'context,bridge' }, plain);
    expect(left.map(({ name }) => name)).to.deep.equal(['core-context', 'core-bridge']);
    for (const { environment } of services)
      expect(environment).to.not.have.any.keys('CORE_CONTEXT_URL', 'CORE_CONTEXT_PORT', 'CORE_BRIDGE_URL');
  });

  it('names a port that is none', () => {
    expect(() => embeddedStack(home(), { busHttpPort: 'many' }, plain)).to.throw(/--bus-http-port/);
    expect(() => embeddedStack(home(), { bridgePort: 70_000 }, plain)).to.throw(/bridge\.port/);
  });
});
