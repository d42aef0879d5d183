import { randomUUID } from 'node:crypto';
import type { RawData, WebSocket } from 'ws';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { isSameKey } from '../registry/workers.ts';

export type ChannelItem = string | Uint8Array;

/** Bytes that wait for a reader before its writer is paused. */
const maxBytes = 256 * 1024;

/** Items from one writer to one reader, in order, with a bounded number between them. */
export class Channel {
  readonly #writer: WritableStreamDefaultWriter<ChannelItem>;
  readonly #reader: ReadableStreamDefaultReader<ChannelItem>;
  #hasWriter = false;
  #hasReader = false;
  #over = false;

  constructor(maxItems: number) {
    const size = (item: ChannelItem) => Math.max(item.length, maxBytes / maxItems);
    const items = new TransformStream<ChannelItem, ChannelItem>({}, { highWaterMark: maxBytes, size });
    this.#writer = items.writable.getWriter();
    this.#reader = items.readable.getReader();
    const end = () => {
      this.#over = true;
    };
    this.#reader.closed.then(end, end);
    this.#writer.closed.catch(() => {});
  }

  /** Whether both sides came. */
  get joined(): boolean {
    return this.#hasWriter && this.#hasReader;
  }

  /** Everything was read, or nobody reads any more. */
  get over(): boolean {
    return this.#over;
  }

  get hasWriter(): boolean {
    return this.#hasWriter;
  }

  /** @param ended called when nothing more can be written @returns false where somebody writes already */
  join(ended: () => void): boolean {
    if (this.#hasWriter) return false;
    this.#hasWriter = true;
    this.#writer.closed.then(ended, ended);
    return true;
  }

  /** null where somebody reads already. */
  read(): Pick<ReadableStreamDefaultReader<ChannelItem>, 'read' | 'cancel'> | null {
    if (this.#hasReader) return null;
    this.#hasReader = true;
    return this.#reader;
  }

  /** Null where there is room for more, else a promise that resolves when there is. */
  write(item: ChannelItem): Promise<void> | null {
    this.#writer.write(item).catch(() => {});
    return (this.#writer.desiredSize ?? 0) > 0 ? null : this.#writer.ready.catch(() => {});
  }

  /** Nothing more is written. */
  end(): void {
    this.#writer.close().catch(() => {});
  }

  /** The same, and nobody waits for a reader who did not come. */
  close(): void {
    this.end();
    if (!this.#hasReader) inBackground('a channel', () => this.#reader.cancel());
  }
}

/** Joins a websocket to one end of a channel. @returns false where that end is taken */
export function joinChannel(ws: WebSocket, channel: Channel, direction: 'read' | 'write'): boolean {
  ws.on('error', () => {});
  return direction === 'write' ? writeFrom(ws, channel) : readTo(ws, channel);
}

function writeFrom(ws: WebSocket, channel: Channel): boolean {
  if (!channel.join(() => ws.close(1000))) return false;
  ws.on(
    'message',
    guarded('the bus engine', async (data: RawData, isBinary) => {
      const room = channel.write(isBinary ? (data as Buffer) : (data as Buffer).toString());
      if (room === null) return;
      ws.pause();
      await room;
      ws.resume();
    }),
  );
  ws.on(
    'close',
    guarded('the bus engine', () => channel.end()),
  );
  return true;
}

function readTo(ws: WebSocket, channel: Channel): boolean {
  const reader = channel.read();
  if (reader === null) return false;
  ws.on(
    'close',
    guarded('a channel', () => reader.cancel()),
  );
  async function sendAll(items: NonNullable<typeof reader>): Promise<void> {
    for (;;) {
      const { done, value } = await items.read();
      if (done) return ws.close(1000);
      await new Promise((sent) => ws.send(value, sent));
    }
  }
  inBackground('the bus engine', () => sendAll(reader));
  return true;
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
    this.#byId.get(id)?.channel.close();
    this.#byId.delete(id);
  }
}
