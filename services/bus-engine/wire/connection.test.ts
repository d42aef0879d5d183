import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import type { WebSocket } from 'ws';
import type { Logger } from '#kit/log.ts';
import { Connection } from './connection.ts';

/** The websocket of a worker, as far as a connection uses it. */
class Socket extends EventEmitter {
  pauses = 0;

  pause(): void {
    this.pauses++;
  }

  resume(): void {}
}

describe('A connection of a worker', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.emit('close');
  });

  function connected() {
    const socket = new Socket();
    sockets.push(socket);
    const lines: string[] = [];
    const logger: Logger = {
      error() {},
      warn: (text) => void lines.push(text),
      info() {},
      debug() {},
      child: () => logger,
    };
    const faults: string[] = [];
    const connection = new Connection({
      ws: socket as unknown as WebSocket,
      socket: new PassThrough(),
      token: null,
      mayCall: true,
      address: 'test',
      framesPerSecond: 3_000,
      // Stands still, so that nothing is forgiven while a slow machine parses.
      now: () => 0,
      maxUnread: 1_000_000,
      handlers: {
        frame() {},
        fault: (_, { reason }) => void faults.push(reason),
        closed() {},
      },
      logger,
    });
    const send = (text: string) => void socket.emit('message', Buffer.from(text), false);
    return { socket, connection, lines, faults, send };
  }

  it('is paused after a frame of many bytes or many values, and not after a small one', () => {
    const small = connected();
    small.send(`["${'x'.repeat(10_000)}"]`);
    const long = connected();
    long.send(`["${'x'.repeat(4_000_000)}"]`);
    const many = connected();
    many.send(`[${'[],'.repeat(20_000)}0]`);
    for (const { faults } of [small, long, many])
      expect(faults).to.deep.equal(['a frame must be a JSON object']);
    expect([small, long, many].map(({ socket }) => socket.pauses)).to.deep.equal([0, 1, 1]);
  });

  it('has refusals logged the first, the tenth and the hundredth time, however many there are', () => {
    const { connection, lines } = connected();
    for (let nth = 0; nth < 999; nth++) connection.refused('not taken');
    expect(lines).to.have.length(3);
    connection.refused('not taken');
    expect(lines).to.have.length(4);
  });

  it('has broken frames logged in the same way', () => {
    const { lines, send } = connected();
    for (let nth = 0; nth < 100; nth++) send('{');
    expect(lines).to.have.length(3);
  });
});
