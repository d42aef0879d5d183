import { randomUUID, timingSafeEqual } from 'node:crypto';
import { Channel } from './channel.ts';

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
export interface ChannelOwner {
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
export const maxChannels = { ofConnection: 1_000, ofToken: 4_000, ofAll: 10_000 };

/** Channels by id, until both ends are done, or one did not come for five minutes, or its owner is gone. */
export class Channels {
  readonly #byId = new Map<string, Kept>();
  readonly #idsOf = new Map<ChannelOwner, Set<string>>();
  readonly #ofToken = new Map<string | null, number>();
  #owned = 0;
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
    this.#keep(channel_id, { owner, channel, writeKey, readKey, since: this.#now() });
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
    return same(direction === 'read' ? kept.readKey : kept.writeKey, key) ? kept.channel : null;
  }

  sweep(): void {
    const now = this.#now();
    for (const [id, { channel, since }] of this.#byId) {
      if (!channel.over && (channel.joined || now - since < unusedForMs)) continue;
      this.#end(id);
    }
  }

  removeAllOf(owner: ChannelOwner): void {
    for (const id of [...(this.#idsOf.get(owner) ?? [])]) this.#end(id);
  }

  #hasRoom(owner: ChannelOwner): boolean {
    const { ofConnection, ofToken, ofAll } = maxChannels;
    return (
      (this.#idsOf.get(owner)?.size ?? 0) < ofConnection &&
      (this.#ofToken.get(owner.token) ?? 0) < ofToken &&
      this.#owned < ofAll
    );
  }

  #keep(id: string, kept: Kept): void {
    this.#byId.set(id, kept);
    const { owner } = kept;
    if (owner === null) return;
    this.#idsOf.set(owner, (this.#idsOf.get(owner) ?? new Set()).add(id));
    this.#ofToken.set(owner.token, (this.#ofToken.get(owner.token) ?? 0) + 1);
    this.#owned++;
  }

  #end(id: string): void {
    const kept = this.#byId.get(id);
    if (kept === undefined) return;
    const { owner, channel } = kept;
    this.#byId.delete(id);
    channel.endWriting();
    channel.endReading();
    if (owner === null) return;
    const own = this.#idsOf.get(owner);
    own?.delete(id);
    if (own?.size === 0) this.#idsOf.delete(owner);
    const left = this.#ofToken.get(owner.token)! - 1;
    if (left > 0) this.#ofToken.set(owner.token, left);
    else this.#ofToken.delete(owner.token);
    this.#owned--;
  }
}

function same(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
