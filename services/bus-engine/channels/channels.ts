import { randomUUID } from 'node:crypto';
import type { RawData, WebSocket } from 'ws';
import { isSameKey } from '../registry/workers.ts';

/** One item: text or bytes. */
export type ChannelItem = string | Uint8Array;

/** The side that reads. */
interface ChannelReader {
  item(item: ChannelItem): void;
  end(): void;
}

/** The side that writes; paused while too much is unread. */
interface ChannelWriter {
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

/** One end of a channel; the official SDK turns such an object in a payload into a stream. */
export interface ChannelEnd {
  readonly channel_id: string;
  /** Whoever knows it may take this end, once. */
  readonly access_key: string;
  readonly direction: 'read' | 'write';
}

export interface OpenedChannel {
  readonly channel: Channel;
  readonly writer: ChannelEnd;
  readonly reader: ChannelEnd;
  /** Both ends are done with it. */
  close(): void;
}

/** The connection that a channel was made for. */
interface ChannelOwner {
  readonly token: string | null;
}

interface Kept {
  readonly owner: ChannelOwner | null;
  readonly channel: Channel;
  readonly writeKey: string;
  readonly readKey: string;
  readonly since: number;
}

const unusedForMs = 5 * 60_000;
const maxItems = 1024;
const defaultItems = 64;
/** Open at the same time. */
const maxChannels = { ofConnection: 1_000, ofToken: 4_000, ofAll: 10_000 };

/** Channels by id, until both ends are done, or one did not come for five minutes, or its owner is gone. */
export class Channels {
  readonly #byId = new Map<string, Kept>();
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** @returns null where there are too many; those without an owner are counted by who opens them */
  open(items: unknown = defaultItems, owner: ChannelOwner | null = null): OpenedChannel | null {
    if (owner !== null && !this.#hasRoom(owner)) return null;
    const size = Number.isInteger(items) ? Math.min(maxItems, Math.max(1, items as number)) : defaultItems;
    const [channel_id, writeKey, readKey] = [randomUUID(), randomUUID(), randomUUID()];
    const channel = new Channel(size);
    this.#byId.set(channel_id, { owner, channel, writeKey, readKey, since: this.#now() });
    return {
      channel,
      writer: { channel_id, access_key: writeKey, direction: 'write' },
      reader: { channel_id, access_key: readKey, direction: 'read' },
      close: () => {
        this.#end(channel_id);
      },
    };
  }

  /** null for an unknown channel or a wrong key. */
  find(id: string, key: string, direction: string): Channel | null {
    const kept = this.#byId.get(id);
    if (kept === undefined || (direction !== 'read' && direction !== 'write')) return null;
    return isSameKey(direction === 'read' ? kept.readKey : kept.writeKey, key) ? kept.channel : null;
  }

  sweep(): void {
    const now = this.#now();
    for (const [id, { channel, since }] of this.#byId) {
      if (!channel.over && (channel.joined || now - since < unusedForMs)) continue;
      this.#end(id);
    }
  }

  removeAllOf(owner: ChannelOwner): void {
    for (const [id, kept] of this.#byId) if (kept.owner === owner) this.#end(id);
  }

  #hasRoom(owner: ChannelOwner): boolean {
    const owners = [...this.#byId.values()].flatMap((kept) => kept.owner ?? []);
    return (
      owners.length < maxChannels.ofAll &&
      owners.filter((one) => one === owner).length < maxChannels.ofConnection &&
      owners.filter(({ token }) => token === owner.token).length < maxChannels.ofToken
    );
  }

  #end(id: string): void {
    const channel = this.#byId.get(id)?.channel;
    this.#byId.delete(id);
    channel?.endWriting();
    channel?.endReading();
  }
}
