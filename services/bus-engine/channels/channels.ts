import { randomUUID, timingSafeEqual } from 'node:crypto';
import { Channel } from './channel.ts';

/** What the official SDK turns into a stream wherever it meets it in a payload. */
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

interface Kept {
  readonly channel: Channel;
  readonly writeKey: string;
  readonly readKey: string;
  readonly since: number;
}

const unusedForMs = 5 * 60_000;
const mostItems = 1024;
const usualItems = 64;
const mostChannels = 10_000;

/** Channels by id, until both ends are done, or one did not come for five minutes. */
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

  /** null where there are too many. */
  open(items: unknown = usualItems): OpenedChannel | null {
    if (this.#byId.size >= mostChannels) return null;
    const most = Number.isInteger(items) ? Math.min(mostItems, Math.max(1, items as number)) : usualItems;
    const [channel_id, writeKey, readKey] = [randomUUID(), randomUUID(), randomUUID()];
    const channel = new Channel(most);
    this.#byId.set(channel_id, { channel, writeKey, readKey, since: this.#now() });
    return {
      channel,
      writer: { channel_id, access_key: writeKey, direction: 'write' },
      reader: { channel_id, access_key: readKey, direction: 'read' },
      close: () => {
        this.#byId.delete(channel_id);
        channel.endWriting();
        channel.endReading();
      },
    };
  }

  /** null for an unknown channel or a wrong key. */
  find(id: string, key: string, direction: string): Channel | null {
    const kept = this.#byId.get(id);
    if (kept === undefined || (direction !== 'read' && direction !== 'write')) return null;
    return same(direction === 'read' ? kept.readKey : kept.writeKey, key) ? kept.channel : null;
  }

  sweep(): void {
    const now = this.#now();
    for (const [id, { channel, since }] of this.#byId) {
      if (!channel.over && (channel.joined || now - since < unusedForMs)) continue;
      this.#byId.delete(id);
      channel.endWriting();
      channel.endReading();
    }
  }
}

function same(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
