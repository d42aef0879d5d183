import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { expect } from 'chai';
import { announceService } from '#kit/config/running-service.ts';
import { environment } from '#kit/environment.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';
import { serviceToken } from '#kit/tokens/tokens.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { checkPlatform } from './check.ts';
import { readStatusConfig } from './configuration.ts';
import { chooseManager } from './managers/choose-manager.ts';
import type { Places } from './places.ts';
import { runSmoke } from './smoke/smoke.ts';
import { createTokenShower } from './token-shower.ts';

describe('A report on who holds the ports of a platform', () => {
  let folders: Folders;
  let places: Places;
  let end: () => void;
  let port: number;
  let manager: 'none' | 'embedded';
  /** What was asked, with the token that came with it. */
  let asked: [url: string | undefined, shown: string | undefined][];

  /** Answers like each of our services, which everybody can. */
  beforeEach(async () => {
    folders = resolveFolders({ home: temporaryFolder() }, environment);
    asked = [];
    manager = 'none';
    const server = createServer(({ url, headers }, response) => {
      asked.push([url, headers.authorization]);
      const health = { status: 'ok', service: 'core-agentd', version: '1.0.0', checks: {} };
      response.end(
        JSON.stringify(
          url === '/healthz' ? health : { runs: [], next_cursor: null, problems: [], runs_count: 0 },
        ),
      );
    });
    server.on('upgrade', ({ headers }, socket) => {
      asked.push(['upgrade', headers.authorization]);
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    end = () => {
      server.closeAllConnections();
      server.close();
    };
    port = (server.address() as AddressInfo).port;
    const url = `http://127.0.0.1:${port}`;
    places = {
      agentd: url,
      bridge: url,
      bus: { url: `ws://127.0.0.1:${port}`, wants_token: true, ca: null },
      endpoints: [{ service: 'core-agentd', url, health: true }],
      here: [],
      unused: new Map(),
    };
  });
  afterEach(() => end());

  function check(vouched: readonly string[] = [], timeoutMs = 60_000) {
    const config = { ...readStatusConfig(folders), manager };
    const shower = createTokenShower(folders, vouched);
    const managed = chooseManager(config, folders, AbortSignal.timeout(timeoutMs));
    return checkPlatform({ config, places, shower, timeoutMs, managed });
  }
  const bearer = () => `Bearer ${serviceToken(folders, 'bridge')}`;
  const shown = () => new Map(asked);

  it('shows no token to a program that says that it is the service', async () => {
    const found = await check();
    expect([...shown()]).to.have.deep.members([
      ['/healthz', undefined],
      ['upgrade', undefined],
    ]);
    const why = `of this state folder runs, so that nobody of ours is at 127.0.0.1:${port}`;
    expect(found.runs).to.include({ count: null, detail: `not asked: no core-agentd ${why}` });
    expect(found.unreachable).to.contain(`it was shown no token: no core-bus-engine ${why}`);
  });

  it('is of this state folder alone where its supervisor says which services it has', async () => {
    manager = 'embedded';
    const { ok, detail } = (await check()).endpoints['core-agentd']!;
    expect(ok).to.equal(false);
    expect(detail).to.contain('core-agentd answers there, but it is not that of this state folder');
    announceService('core-agentd', folders, { url: places.agentd, host: '127.0.0.1', port });
    expect((await check()).endpoints['core-agentd']).to.include({ ok: true, detail: 'ok' });
  });

  it('may be that of another host where somebody gave clients the address, and the one here is asked too', async () => {
    manager = 'embedded';
    const [endpoint] = places.endpoints;
    places = { ...places, endpoints: [{ ...endpoint!, isGiven: true }], here: [endpoint!] };
    const found = await check();
    expect(found.endpoints['core-agentd']).to.include({ ok: true, detail: 'ok' });
    expect(found.here['core-agentd']).to.include({ ok: true, url: `${places.agentd}/healthz` });
  });

  it('shows the token that can do least to the service that says that it listens there', async () => {
    announceService('core-agentd', folders, { url: places.agentd, host: '127.0.0.1', port });
    const found = await check();
    expect(found.runs).to.deep.include({ count: 0, fix: null });
    expect(shown().get('/v1/storage')).to.equal(bearer());
    expect(shown().get('/healthz')).to.equal(undefined);
    expect(shown().get('upgrade')).to.equal(undefined);
  });

  it('shows it at addresses that the configuration vouches for', async () => {
    expect((await check([`${places.agentd}/`])).runs.count).to.equal(0);
    expect(shown().get('/v1/storage')).to.equal(bearer());
    expect(shown().get('upgrade')).to.equal(bearer());
  });

  it('says within which time a program that takes connections did not answer', async () => {
    const silent = createSocketServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address() as AddressInfo;
    const host = `127.0.0.1:${address.port}`;
    const url = `http://${host}`;
    places = { ...places, agentd: url, bus: { url: `ws://${host}`, wants_token: true, ca: null } };
    places = { ...places, endpoints: [{ service: 'core-agentd', url, health: true }] };
    for (const service of ['core-agentd', 'core-bus-engine'] as const)
      announceService(service, folders, { url, host: '127.0.0.1', port: address.port });
    const found = await check([], 300);
    silent.close();
    const detail = `${host} accepts connections but does not answer within 0.3 s`;
    expect(found.endpoints['core-agentd']).to.include({ ok: false, detail });
    expect(found.runs.detail).to.equal(detail);
    expect(found.unreachable).to.match(/^no connection within \d+ ms: /);
    expect(found.unreachable).to.not.contain('token');
  });

  it('does not wait for what refuses connections', async () => {
    end();
    const found = await check();
    expect(found.endpoints['core-agentd']?.detail).to.contain('ECONNREFUSED');
    expect(found.unreachable).to.contain('ECONNREFUSED');
  });

  it('begins no smoke run with programs that are not known to be ours', async () => {
    const shower = createTokenShower(folders, []);
    const smoke = await runSmoke({ folders, environment, places, shower });
    expect(smoke).to.deep.include({ ok: false, run_id: null });
    expect(smoke.steps.map(({ step }) => step)).to.deep.equal(['preparation']);
    expect(smoke.steps[0]?.detail).to.contain(`127.0.0.1:${port} is shown no token: no core-bridge`);
    expect(asked).to.deep.equal([]);
  });
});
