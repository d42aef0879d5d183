import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { listener } from './listener.ts';

const limits = { headersMs: 60, requestMs: 120, keepAliveMs: 60, stalledMs: 80 };
const binding = { host: '127.0.0.1', port: 0, tls: null } as Parameters<typeof listener>[0];

describe('The connection limits of every HTTP server', () => {
  let server: Server;
  let sockets: Socket[];

  async function serve(handle: RequestListener): Promise<void> {
    sockets = [];
    server = listener(binding, handle, 'agentd', limits);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  function ask(text: string): Socket {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(text);
    return socket;
  }

  /** All that comes until the server ends the connection, or resets it while this side still writes. */
  async function untilEnded(socket: Socket): Promise<string> {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => socket.once('close', resolve));
    return text;
  }

  it('ends a connection that says nothing, half a header, one header after another, or half a body', async () => {
    await serve((_, response) => response.end('never'));
    const slow = ask('GET / HTTP/1.1\r\nHost: core\r\n');
    const drip = setInterval(() => slow.write('a: b\r\n'), 10);
    const ended = [
      ask(''),
      ask('GET / HT'),
      slow,
      ask('POST / HTTP/1.1\r\nHost: core\r\nContent-Length: 9\r\n\r\nhalf'),
    ].map(untilEnded);
    await Promise.all(ended);
    clearInterval(drip);
  });

  it('ends a connection on which nothing more is asked', async () => {
    await serve((_, response) => response.end('done'));
    expect(await untilEnded(ask('GET / HTTP/1.1\r\nHost: core\r\n\r\n'))).to.match(/done$/);
  });

  it('ends an answer that its client does not read', async () => {
    let broken: Promise<unknown> | undefined;
    await serve((_, response) => {
      broken = once(response, 'close');
      response.end(Buffer.alloc(64 * 1024 * 1024));
    });
    const socket = ask('GET / HTTP/1.1\r\nHost: core\r\n\r\n');
    socket.pause();
    await once(server, 'request');
    await broken;
  });

  it('cuts neither an answer that takes its time nor a stream on which little happens', async () => {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 4 * limits.stalledMs));
    await serve(async (_, response) => {
      await pause();
      response.write('first ');
      await pause();
      response.end('second');
    });
    const text = await untilEnded(ask('GET / HTTP/1.1\r\nHost: core\r\n\r\n'));
    expect(text).to.contain('first ').and.to.contain('second');
  });
});
