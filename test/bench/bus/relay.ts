import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';

/**
 * The yardstick of the bus: the least that passes calls from one connection to another and results back. It knows functions and
 * calls by id, parses each frame to see what it is, and hands on the bytes that came. It checks nothing, keeps nothing, refuses
 * nobody, and adds nothing to what it hands on.
 */
const owners = new Map<string, WebSocket>();
const callers = new Map<string, WebSocket>();

function received(socket: WebSocket, data: RawData): void {
  const frame = JSON.parse(data.toString());
  switch (frame.type) {
    case 'registerfunction':
      owners.set(frame.id, socket);
      break;
    case 'invokefunction': {
      const owner = owners.get(frame.function_id);
      if (owner === undefined || frame.invocation_id === undefined) break;
      callers.set(frame.invocation_id, socket);
      owner.send(data, { binary: false });
      break;
    }
    case 'invocationresult': {
      const caller = callers.get(frame.invocation_id);
      callers.delete(frame.invocation_id);
      caller?.send(data, { binary: false });
      break;
    }
  }
}

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  const registered = { type: 'workerregistered', worker_id: randomUUID(), reattach_token: randomUUID() };
  socket.send(JSON.stringify(registered));
  socket.on('message', (data) => received(socket, data));
  socket.on('error', () => {});
});
await once(server, 'listening');
process.send!({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` });
process.on('disconnect', () => process.exit());
