import type { RegisterFunction } from '#kit/contracts/bus/frames.ts';
import type { Connection } from '../wire/connection.ts';
import { weigh } from './kept-value.ts';

/** Prefixes of ids that the protocol reserves for the engine. */
const reserved = ['engine::', 'state::', 'stream::', 'iii::', 'configuration::'];
const reservedIds: ReadonlySet<string> = new Set(['publish']);

export interface Rejection {
  readonly code: string;
  readonly message: string;
  /** The connection that provides it. */
  readonly owner: Connection | null;
}

interface Owner {
  readonly prefix: string;
  /** Name of a token. */
  readonly token: string;
}

/** Who may register which functions. */
export class Owners {
  readonly #byLength: readonly Owner[];

  constructor(owners: readonly Owner[]) {
    this.#byLength = owners.toSorted((a, b) => b.prefix.length - a.prefix.length);
  }

  /** Name of the token that the id belongs to; null where it is free. */
  ownerOf(id: string): string | null {
    return this.#byLength.find(({ prefix }) => id.startsWith(prefix))?.token ?? null;
  }

  /** @param token name of who wants to register it */
  refusal(id: string, token: string | null): Rejection | null {
    if (/\p{Cc}/u.test(id)) {
      const message = `function id ${JSON.stringify(id)} has control characters: must have none`;
      return { code: 'function_id_invalid', message, owner: null };
    }
    const prefix = reserved.find((start) => id.startsWith(start));
    if (prefix !== undefined || reservedIds.has(id)) {
      const message = `function id ${id} is the engine's own: must not be publish, nor begin with ${reserved.join(', ')}`;
      return { code: 'function_id_reserved', message, owner: null };
    }
    const owner = this.ownerOf(id);
    if (owner === null || owner === token) return null;
    const came = token === null ? 'without a token' : `with the token ${token}`;
    const message = `function ${id} belongs to the token ${owner}: this connection came ${came}`;
    return { code: 'function_owned', message, owner: null };
  }
}

export interface Registration extends Omit<RegisterFunction, 'type' | 'invocation'> {
  readonly peer: Connection;
  /** Bytes of JSON of its description, formats and metadata. */
  readonly weight: number;
}

/** Of all registrations with one token: lists of functions repeat it. */
const maxWeight = 32 * 1024 * 1024;

/**
 * Functions by id. The last registration answers; when its worker goes, the one before it does again. Another token cannot take a
 * function over.
 */
export class Functions {
  readonly #byId = new Map<string, Registration[]>();
  readonly #idsOf = new Map<Connection, Set<string>>();
  /** By token: an id is of one token at a time. */
  readonly #weights = new Map<string | null, number>();
  readonly #owners: Owners;
  readonly #limit: number;
  readonly #changed: (id: string) => void;

  /** @param changed called when another worker, or none, answers to an id */
  constructor(options: {
    readonly owners: Owners;
    readonly limit: number;
    readonly changed: (id: string) => void;
  }) {
    this.#owners = options.owners;
    this.#limit = options.limit;
    this.#changed = options.changed;
  }

  get(id: string): Registration | undefined {
    return this.#byId.get(id)?.at(-1);
  }

  get size(): number {
    return this.#byId.size;
  }

  *all(): Iterable<Registration> {
    for (const registrations of this.#byId.values()) yield registrations.at(-1)!;
  }

  countOf(peer: Connection): number {
    return this.#idsOf.get(peer)?.size ?? 0;
  }

  /** null where it is taken. */
  register(peer: Connection, frame: RegisterFunction): Rejection | null {
    const { id, description, request_format, response_format, metadata } = frame;
    const refused = this.#owners.refusal(id, peer.token) ?? this.#heldByOther(id, peer);
    if (refused !== null) return refused;
    const others = (this.#byId.get(id) ?? []).filter((registration) => registration.peer !== peer);
    const own = this.#idsOf.get(peer) ?? new Set();
    const kept = { description, request_format, response_format, metadata };
    const weight = weigh(kept);
    if (typeof weight === 'string')
      return { code: 'too_much_metadata', message: `function ${id}: ${weight}`, owner: null };
    if ((this.#weights.get(peer.token) ?? 0) + weight > maxWeight) {
      const message = `function ${id}: descriptions, formats and metadata of the token ${peer.token} must have at most ${maxWeight} bytes together`;
      return { code: 'too_much_metadata', message, owner: null };
    }
    if (!own.has(id) && own.size >= this.#limit) {
      const message = `this connection has registered ${this.#limit} functions, the limit`;
      return { code: 'too_many_functions', message, owner: null };
    }
    this.#idsOf.set(peer, own.add(id));
    this.#set(id, [...others, { id, ...kept, peer, weight }]);
    return null;
  }

  /** Whether it was its own. */
  unregister(peer: Connection, id: string): boolean {
    if (this.#idsOf.get(peer)?.delete(id) !== true) return false;
    const registrations = this.#byId.get(id) ?? [];
    this.#set(
      id,
      registrations.filter((registration) => registration.peer !== peer),
    );
    return true;
  }

  removeAllOf(peer: Connection): void {
    for (const id of [...(this.#idsOf.get(peer) ?? [])]) this.unregister(peer, id);
    this.#idsOf.delete(peer);
  }

  #heldByOther(id: string, { token }: Connection): Rejection | null {
    const holder = this.get(id)?.peer;
    if (holder === undefined || holder.token === token) return null;
    const message = `function ${id} is provided by a worker with the token ${holder.token}: it cannot be taken over with ${token}`;
    return { code: 'function_held', message, owner: holder };
  }

  #set(id: string, registrations: Registration[]): void {
    const earlier = this.#byId.get(id) ?? [];
    const before = earlier.at(-1);
    const now = registrations.at(-1);
    if (now === undefined) this.#byId.delete(id);
    else this.#byId.set(id, registrations);
    const { token } = (now ?? before)!.peer;
    const weight = (this.#weights.get(token) ?? 0) + weightTogether(registrations) - weightTogether(earlier);
    if (weight > 0) this.#weights.set(token, weight);
    else this.#weights.delete(token);
    if (before?.peer !== now?.peer) this.#changed(id);
  }
}

function weightTogether(registrations: readonly Registration[]): number {
  return registrations.reduce((sum, { weight }) => sum + weight, 0);
}
