import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import { startGateway } from '../fixtures/model-upstream/gateway.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

const hello = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }] };

describe('The model gateway behind a proxy that the environment names', () => {
  let upstream: ModelUpstream;
  let proxy: Server;
  let asked: string[];
  beforeEach(async () => {
    upstream = await startModelUpstream();
    asked = [];
    proxy = createServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url!);
      const onward = connect(Number(request.url!.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(async () => {
    proxy.close();
    await upstream.close();
  });

  async function askAt(url: string): Promise<void> {
    const { port } = proxy.address() as AddressInfo;
    const entry = { kind: 'openai', base_url: url, model: 'tiny-1' };
    const proxies = { HTTP_PROXY: `http://127.0.0.1:${port}`, HTTPS_PROXY: undefined, NO_PROXY: undefined };
    const gateway = await startGateway(
      { models: { small: { upstreams: [entry] } }, retries: 0 },
      {},
      proxies,
    );
    try {
      expect((await gateway.client.chat.completions.create(hello)).choices).to.have.length(1);
    } finally {
      await gateway.stop();
    }
  }

  it('asks upstreams elsewhere through it, and those of this machine without', async () => {
    const { port } = new URL(upstream.url);
    await askAt(`http://upstream.test:${port}/v1`);
    expect(asked).to.deep.equal([`upstream.test:${port}`]);
    await askAt(upstream.url);
    expect(asked).to.have.length(1);
    expect(upstream.requests).to.have.length(2);
  });
});
