import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import * as ws from 'ws';
import { Outbox } from './outbox.ts';
import { Turn } from './turn.ts';

/** Reads frames as a client does; its types leave it out. */
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => Duplex };

/** A socket whose other side reads when it is told to. */
class Socket extends Duplex {
  readonly writes: Buffer[] = [];
  #waiting: (() => void) | null = null;
  reads = true;

  override _read(): void {}

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    if (this.reads) done();
    else this.#waiting = done;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this._writev([{ chunk }], done);
  }

  readOn(): void {
    this.reads = true;
    this.#waiting?.();
  }
}

function textsIn(bytes: Buffer): string[] {
  const texts: string[] = [];
  const receiver = new Receiver({ isServer: false });
  receiver.on('message', (data: unknown) => void texts.push(String(data)));
  receiver.write(bytes);
  return texts;
}

describe('an outbox', () => {
  it('sends the frames of one turn in one write, in order and in any length', async () => {
    const socket = new Socket();
    const outbox = new Outbox<number>(socket, new Turn());
    const texts = ['', 'a', 'é'.repeat(63), 'x'.repeat(126), 'y'.repeat(65_535), 'z'.repeat(70_000), 'end'];
    for (const text of texts) outbox.pushText(text);
    outbox.push([Buffer.from('in '), Buffer.from('pieces')]);
    expect(socket.writes).to.deep.equal([]);
    await turn();
    expect(socket.writes).to.have.length(1);
    expect(textsIn(socket.writes[0]!)).to.deep.equal([...texts, 'in pieces']);
    expect(outbox.waiting).to.equal(0);
  });

  it('keeps what the other side does not read, and sends it when it reads again', async () => {
    const socket = new Socket({ writableHighWaterMark: 10 });
    socket.reads = false;
    const outbox = new Outbox<number>(socket, new Turn());
    outbox.pushText('first, and long');
    await turn();
    outbox.pushText('second');
    outbox.pushText('third');
    await turn();
    expect(outbox.waiting).to.equal(2 + 15 + 6 + 5);
    socket.readOn();
    await turn();
    expect(textsIn(Buffer.concat(socket.writes))).to.deep.equal(['first, and long', 'second', 'third']);
  });

  it('gives back what never left, and nothing else', async () => {
    const socket = new Socket({ writableHighWaterMark: 10 });
    socket.reads = false;
    const outbox = new Outbox<number>(socket, new Turn());
    outbox.pushText('first, and long', 1);
    await turn();
    const shared = Buffer.from('xsecondx');
    outbox.push([shared.subarray(1, 4), shared.subarray(4, 7)], 2);
    outbox.pushText('unmarked');
    shared.fill('?');
    const back = outbox.takeBack();
    expect(back.map(({ mark, payload }) => [mark, String(payload)])).to.deep.equal([[2, 'second']]);
    outbox.pushText('late', 4);
    expect(outbox.takeBack()).to.deep.equal([]);
  });
});
