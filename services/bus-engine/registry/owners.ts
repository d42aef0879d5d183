import type { Connection } from '../wire/connection.ts';

/** Prefixes of ids that the protocol reserves for the engine. */
const reserved = ['engine::', 'state::', 'stream::', 'iii::', 'configuration::'];
const reservedIds: ReadonlySet<string> = new Set(['publish']);

/** Why a registration was refused. */
export interface Rejection {
  readonly code: string;
  readonly message: string;
  /** The connection that provides it. */
  readonly owner: Connection | null;
}

export interface Owner {
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
