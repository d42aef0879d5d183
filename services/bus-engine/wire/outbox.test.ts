import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { Outbox } from './outbox.ts';

/** A socket whose other side reads when it is told to. */
class Socket extends Duplex {
  readonly written: string[] = [];
  #waiting: (() => void) | null = null;
  reads = false;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written.push(String(chunk));
    if (this.reads) done();
    else this.#waiting = done;
  }

  readOn(): void {
    this.reads = true;
    this.#waiting?.();
  }
}

/** An outbox whose websocket writes frames without headers. */
function slowOutbox() {
  const socket = new Socket({ writableHighWaterMark: 10 });
  const ws = {
    send: (bytes: Buffer) => socket.write(bytes),
    get bufferedAmount() {
      return socket.writableLength;
    },
  } as unknown as WebSocket;
  return { socket, outbox: new Outbox(ws, socket) };
}

describe('an outbox', () => {
  it('sends text frames in order and in any length', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    await once(server, 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const texts = [
      '',
      'a',
      'é'.repeat(63),
      'x'.repeat(126),
      'y'.repeat(65_535),
      'z'.repeat(3_000_000),
      'end',
    ];
    server.on('connection', (ws, { socket }) => {
      const outbox = new Outbox(ws, socket);
      for (const text of texts) outbox.push(text);
    });
    try {
      const got: [text: string, isBinary: boolean][] = [];
      await new Promise<void>((resolve) => {
        client.on('message', (data, isBinary) => {
          if (got.push([String(data), isBinary]) === texts.length) resolve();
        });
      });
      expect(got).to.deep.equal(texts.map((text) => [text, false]));
    } finally {
      client.terminate();
      server.close();
    }
  });

  it('keeps what the other side does not read, and sends it when it reads again', async () => {
    const { socket, outbox } = slowOutbox();
    for (const text of ['first, and long', 'second', 'third']) outbox.push(text);
    expect(outbox.waiting).to.equal(15 + 6 + 5);
    expect(outbox.leaving).to.equal(15);
    expect(outbox.taken).to.equal(0);
    socket.readOn();
    await turn();
    expect(socket.written).to.deep.equal(['first, and long', 'second', 'third']);
    expect(outbox.waiting).to.equal(0);
    expect(outbox.taken).to.equal(15 + 6 + 5);
  });

  it('tells of what never left when it is closed, and of nothing else', () => {
    const { outbox } = slowOutbox();
    const unsent: number[] = [];
    outbox.push('first, and long', () => unsent.push(1));
    outbox.push('second', () => unsent.push(2));
    outbox.push('nobody asks');
    outbox.close();
    expect(unsent).to.deep.equal([2]);
    outbox.push('late', () => unsent.push(4));
    outbox.close();
    expect(unsent).to.deep.equal([2]);
  });
});
