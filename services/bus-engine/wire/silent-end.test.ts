import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { endWhenSilent } from './connection.ts';

describe('A websocket of the engine', () => {
  let server: Server;
  let accepted: WebSocket[];

  beforeEach(async () => {
    accepted = [];
    server = createServer();
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (ws: WebSocket) => {
      accepted.push(ws);
      endWhenSilent(ws, 200);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const ws of accepted) ws.terminate();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;

  it('is ended when its other end gives no sign', async () => {
    const socket: Socket = connect(port(), '127.0.0.1');
    const key = Buffer.alloc(16).toString('base64');
    socket.write(
      `GET / HTTP/1.1\r\nHost: core\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    socket.resume();
    await once(socket, 'close');
  });

  it('stays while the other end answers', async () => {
    const client = new WebSocket(`ws://127.0.0.1:${port()}/`);
    for (let nth = 0; nth < 4; nth++) await once(client, 'ping');
    expect(client.readyState).to.equal(WebSocket.OPEN);
    client.terminate();
  });
});
