import { timingSafeEqual } from 'node:crypto';
import type { Reattach } from '#kit/contracts/bus/frames.ts';
import type { Connection } from '../wire/connection.ts';

export class Workers {
  readonly #byId = new Map<string, Connection>();

  get size(): number {
    return this.#byId.size;
  }

  add(connection: Connection): void {
    this.#byId.set(connection.id, connection);
  }

  /** Whether it was there. */
  remove(connection: Connection): boolean {
    return this.#byId.delete(connection.id);
  }

  /** @param token its name; null for connections that came without one */
  countOf(token: string | null): number {
    return [...this.#byId.values()].filter((connection) => connection.token === token).length;
  }

  all(): Iterable<Connection> {
    return this.#byId.values();
  }

  /** The connection that this one replaces; null unless it can prove that it was its own. */
  replacedBy(connection: Connection, frame: Reattach): Connection | null {
    const earlier = this.#byId.get(frame.previous_worker_id);
    if (earlier === undefined || earlier === connection || earlier.token !== connection.token) return null;
    return isSameKey(earlier.reattachToken, frame.reattach_token ?? '') ? earlier : null;
  }
}

/** In the same time whatever they are. */
export function isSameKey(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
