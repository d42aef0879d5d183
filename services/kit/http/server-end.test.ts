import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { loopbackBinding } from '../../../test/fixtures/http/loopback-binding.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { silentLogger } from '../log.ts';
import { Redactor } from '../redaction/redactor.ts';
import { openTokens } from '../tokens/tokens.ts';
import { createHttpServer } from './server.ts';

describe('An HTTP server that ends', () => {
  it('answers what was begun, and lets nobody keep a connection by asking on and on', async () => {
    const server = createHttpServer({
      service: 'core-test',
      version: '1',
      binding: loopbackBinding,
      tokens: openTokens({ tokens: temporaryFolder() }),
      logger: silentLogger,
      redactor: new Redactor(),
      health: async () => ({ status: 'ok', service: 'core-test', version: '1', checks: {} }),
      routes: [],
    });
    const { port } = await server.start();
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    const request = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
    // With the first answer the server has read the beginning of the second request too.
    socket.write(request + request.slice(0, -4));
    const [first] = await once(socket, 'data');
    const closed = server.close();
    socket.write(request.slice(-4));
    const [second] = await once(socket, 'data');
    await once(socket, 'end');
    socket.destroy();
    await closed;
    expect([first, second].map((answer) => /^connection: (.*)\r$/im.exec(answer)?.[1])).to.deep.equal([
      'keep-alive',
      'close',
    ]);
    expect(second).to.match(/^HTTP\/1\.1 200 /);
  });
});
