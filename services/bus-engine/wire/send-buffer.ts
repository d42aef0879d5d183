import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { guarded } from '#kit/callbacks.ts';

/** So many bytes are handed to the socket at a time when it reads again. */
const portion = 1024 * 1024;

interface Entry {
  readonly bytes: Buffer;
  /** Called in place of sending it when the connection ends first. */
  readonly unsent: (() => void) | null;
}

/** Frames on their way to one connection. While the other side does not read they wait here, and can still go elsewhere. */
export class SendBuffer {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  #entries: Entry[] = [];
  #queuedBytes = 0;
  #pushedBytes = 0;
  #closed = false;

  /** @param socket what the websocket writes to */
  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
    socket.on(
      'drain',
      guarded('the bus engine', () => this.#flush()),
    );
  }

  /** Bytes that the other side has not taken yet. */
  get waiting(): number {
    return this.#queuedBytes + this.leaving;
  }

  /** Bytes that the other side has taken, counted when all of one write are. */
  get taken(): number {
    return this.#pushedBytes - this.waiting;
  }

  /** Bytes of the write that it is taking now. */
  get leaving(): number {
    return this.#ws.bufferedAmount;
  }

  /** @param unsent called once if the connection ends before the frame has left */
  push(text: string, unsent: (() => void) | null = null): void {
    if (this.#closed) return;
    const bytes = Buffer.from(text);
    this.#pushedBytes += bytes.length;
    if (this.#entries.length > 0 || this.#socket.writableNeedDrain) {
      this.#entries.push({ bytes, unsent });
      this.#queuedBytes += bytes.length;
    } else this.#write(bytes);
  }

  /** Nothing leaves any more. */
  close(): void {
    this.#closed = true;
    const unsent = this.#entries;
    this.#entries = [];
    this.#queuedBytes = 0;
    for (const entry of unsent) entry.unsent?.();
  }

  #flush(): void {
    let sent = 0;
    while (sent < this.#entries.length && this.leaving < portion) {
      const { bytes } = this.#entries[sent++]!;
      this.#queuedBytes -= bytes.length;
      this.#write(bytes);
    }
    this.#entries.splice(0, sent);
  }

  #write(bytes: Buffer): void {
    this.#ws.send(bytes, { binary: false });
  }
}
