import type { RawData, WebSocket } from 'ws';

/** One item: text or bytes. */
export type ChannelItem = string | Uint8Array;

/** The side that reads. */
export interface ChannelReader {
  item(item: ChannelItem): void;
  end(): void;
}

/** The side that writes; paused while too much is unread. */
export interface ChannelWriter {
  pause(): void;
  resume(): void;
  /** Nobody reads any more. */
  end(): void;
}

/** Bytes that wait for a reader before its writer is paused. */
const maxBytes = 256 * 1024;

/** Items from one writer to one reader, in order, with a bounded number between them. */
export class Channel {
  readonly #maxItems: number;
  readonly #waiting: ChannelItem[] = [];
  #writer: ChannelWriter | null = null;
  #reader: ChannelReader | null = null;
  #waitingBytes = 0;
  #paused = false;
  #written = false;
  #read = false;

  constructor(maxItems: number) {
    this.#maxItems = maxItems;
  }

  /** Whether both sides came. */
  get joined(): boolean {
    return this.#writer !== null && this.#reader !== null;
  }

  get over(): boolean {
    return this.#read || (this.#written && this.#reader !== null);
  }

  get hasWriter(): boolean {
    return this.#writer !== null;
  }

  /** false where somebody writes already. */
  write(writer: ChannelWriter): boolean {
    if (this.#writer !== null) return false;
    this.#writer = writer;
    if (this.#read) writer.end();
    return true;
  }

  /** false where somebody reads already. */
  read(reader: ChannelReader): boolean {
    if (this.#reader !== null) return false;
    this.#reader = reader;
    for (const item of this.#waiting.splice(0)) reader.item(item);
    if (this.#written) reader.end();
    this.#resume();
    return true;
  }

  item(item: ChannelItem): void {
    if (this.#read) return;
    if (this.#reader !== null) return void this.#reader.item(item);
    this.#waiting.push(item);
    this.#waitingBytes += item.length;
    const hasRoom = this.#waiting.length < this.#maxItems && this.#waitingBytes < maxBytes;
    if (hasRoom || this.#paused) return;
    this.#paused = true;
    this.#writer?.pause();
  }

  /** @param does false while the reader does not keep up */
  keepUp(does: boolean): void {
    if (does) return void this.#resume();
    this.#paused = true;
    this.#writer?.pause();
  }

  /** Nothing more is written. */
  endWriting(): void {
    if (this.#written) return;
    this.#written = true;
    this.#reader?.end();
  }

  /** Nothing more is read. */
  endReading(): void {
    if (this.#read) return;
    this.#read = true;
    this.#waiting.length = 0;
    this.#writer?.end();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#writer?.resume();
  }
}

/** Bytes that may wait for a reader before its writer has to. */
const highWater = 256 * 1024;

/** Joins a websocket to one end of a channel. @returns false where that end is taken */
export function joinChannel(ws: WebSocket, channel: Channel, direction: 'read' | 'write'): boolean {
  ws.on('error', () => {});
  return direction === 'write' ? writeFrom(ws, channel) : readTo(ws, channel);
}

function writeFrom(ws: WebSocket, channel: Channel): boolean {
  const taken = channel.write({
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    end: () => ws.close(1000),
  });
  if (!taken) return false;
  ws.on('message', (data: RawData, isBinary) => {
    channel.item(isBinary ? (data as Buffer) : (data as Buffer).toString());
  });
  ws.on('close', () => channel.endWriting());
  return true;
}

function readTo(ws: WebSocket, channel: Channel): boolean {
  let behind = false;
  ws.on('close', () => channel.endReading());
  return channel.read({
    item(item) {
      ws.send(item, () => {
        if (!behind || ws.bufferedAmount > 0) return;
        behind = false;
        channel.keepUp(true);
      });
      if (behind || ws.bufferedAmount < highWater) return;
      behind = true;
      channel.keepUp(false);
    },
    end: () => ws.close(1000),
  });
}
