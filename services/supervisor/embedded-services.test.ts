import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { embeddedStack, withFreePorts } from './embedded-services.ts';

describe('The embedded stack', () => {
  const plain = { ...environment, CORE_CONTEXT_URL: undefined, CORE_BUS_URL: undefined };
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
