import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { SendBuffer } from './send-buffer.ts';

/** A socket whose other side reads on request. */
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

/** An sendBuffer whose websocket writes frames without headers. */
function slowOutbox() {
  const socket = new Socket({ writableHighWaterMark: 10 });
  const ws = {
    send: (bytes: Buffer) => socket.write(bytes),
    get bufferedAmount() {
      return socket.writableLength;
    },
  } as unknown as WebSocket;
  return { socket, sendBuffer: new SendBuffer(ws, socket) };
}

describe('an sendBuffer', () => {
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
      const sendBuffer = new SendBuffer(ws, socket);
      for (const text of texts) sendBuffer.push(text);
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
    const { socket, sendBuffer } = slowOutbox();
    for (const text of ['first, and long', 'second', 'third']) sendBuffer.push(text);
    expect(sendBuffer.waiting).to.equal(15 + 6 + 5);
    expect(sendBuffer.leaving).to.equal(15);
    expect(sendBuffer.taken).to.equal(0);
    socket.readOn();
    await turn();
    expect(socket.written).to.deep.equal(['first, and long', 'second', 'third']);
    expect(sendBuffer.waiting).to.equal(0);
    expect(sendBuffer.taken).to.equal(15 + 6 + 5);
  });

  it('reports what was never sent when it is closed, and nothing else', () => {
    const { sendBuffer } = slowOutbox();
    const unsent: number[] = [];
    sendBuffer.push('first, and long', () => unsent.push(1));
    sendBuffer.push('second', () => unsent.push(2));
    sendBuffer.push('nobody asks');
    sendBuffer.close();
    expect(unsent).to.deep.equal([2]);
    sendBuffer.push('late', () => unsent.push(4));
    sendBuffer.close();
    expect(unsent).to.deep.equal([2]);
  });
});
