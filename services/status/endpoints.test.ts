import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { expect } from 'chai';
import { askEndpoint } from './endpoints.ts';

describe('An endpoint that is asked', () => {
  const servers: { close(): unknown }[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function serving(answer: RequestListener): Promise<string> {
    const server: Server = createServer(answer).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  const health = (status: string, service = 'core-bridge') =>
    JSON.stringify({ status, service, version: '1.0.0', checks: { queue: { status, detail: 'full' } } });
  const ask = (url: string, wantsHealth = true, timeoutMs = 5_000) =>
    askEndpoint({ service: 'core-bridge', url, health: wantsHealth }, { timeoutMs });

  it('is well with its own health, also where it is degraded', async () => {
    const url = await serving((_request, response) => response.end(health('degraded')));
    expect(await ask(url)).to.deep.include({
      ok: true,
      status: 200,
      url: `${url}/healthz`,
      detail: 'degraded; queue: full',
    });
  });

  it('is not well if it fails, is another service, or is not ours', async () => {
    const failing = await serving((_request, response) => response.writeHead(503).end(health('failing')));
    expect(await ask(failing)).to.deep.include({ ok: false, status: 503, detail: 'failing; queue: full' });
    const other = await serving((_request, response) => response.end(health('ok', 'core-context')));
    expect((await ask(other)).detail).to.equal('core-context answers there, not core-bridge');
    const foreign = await serving((_request, response) => response.end('<html>'));
    expect(await ask(foreign)).to.include({
      ok: false,
      detail: 'what answers there is no service of Core (200)',
    });
    expect(await ask(foreign, false)).to.include({ ok: true, detail: 'answers (200)' });
  });

  it('says what a refusal says, and that a proxy reaches nobody', async () => {
    const problem = { detail: 'host "context.example.org" is not allowed', hint: 'Add the name.' };
    const refusing = await serving((_request, response) =>
      response.writeHead(403).end(JSON.stringify(problem)),
    );
    expect(await ask(refusing)).to.include({
      detail: `answers 403: ${problem.detail}`,
      fix: 'Add the name.',
    });
    const proxy = await serving((_request, response) => response.writeHead(502).end('<html>'));
    expect((await ask(proxy)).detail).to.equal('a proxy answers there, and reaches no core-bridge (502)');
  });

  it('says that nobody listens, or that nobody answers within the time', async () => {
    const gone = createSocketServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as { port: number };
    gone.close();
    await once(gone, 'close');
    expect(await ask(`http://127.0.0.1:${port}`)).to.include({
      ok: false,
      status: null,
      detail: `nobody answers at 127.0.0.1:${port} (ECONNREFUSED)`,
      fix: 'Start it: ./core up',
    });
    const silent = await serving(() => {});
    const host = new URL(silent).host;
    expect((await ask(silent, true, 200)).detail).to.equal(
      `${host} accepts connections but does not answer within 0.2 s`,
    );
  });

  it('reads no answer without end', async () => {
    const url = await serving((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) {}
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect((await ask(url)).detail).to.contain('more than 4194304 bytes');
  });
});
