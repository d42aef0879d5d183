import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { checkPlatform } from './check.ts';
import { readStatusConfig } from './configuration.ts';

describe('A report on who holds the ports of a platform', () => {
  it('shows no token to a program that does not say that it is the service', async () => {
    const folders = resolveFolders({ home: temporaryFolder() }, environment);
    const asked: string[] = [];
    const shown: unknown[] = [];
    const squatter = createServer((request, response) => {
      asked.push(request.url ?? '');
      shown.push(request.headers.authorization);
      response.end('{}');
    });
    squatter.on('upgrade', (request, socket) => {
      asked.push('upgrade');
      shown.push(request.headers.authorization);
      socket.destroy();
    });
    await once(squatter.listen(0, '127.0.0.1'), 'listening');
    const host = `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
    const found = await checkPlatform({
      folders,
      environment,
      config: readStatusConfig(folders),
      places: {
        agentd: `http://${host}`,
        bridge: `http://${host}`,
        bus: { url: `ws://${host}`, wants_token: true },
        endpoints: [{ service: 'core-agentd', url: `http://${host}`, health: true }],
        unused: new Map(),
      },
      timeoutMs: 2_000,
    });
    squatter.closeAllConnections();
    squatter.close();
    expect(asked).to.include.members(['/healthz', '/v1/storage', 'upgrade']);
    expect(shown.filter((header) => header !== undefined)).to.deep.equal([]);
    expect(found.endpoints['core-agentd']).to.include({ ok: false });
  });
});
