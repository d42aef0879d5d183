import { Unavailable } from '#kit/errors.ts';
import type { BusConfig } from '../configuration.ts';
import type { Workers } from '../registry/workers.ts';

/** Of all connections: what no token but those of `owners` can take. */
const reservedShare = 0.1;
/** Of all connections: what one token can take that owns no functions. */
const shareOfOne = 0.5;

/** Places for workers: whoever connects and connects leaves some for the workers of the platform, and for others. */
export class WorkerRoom {
  readonly #workers: Pick<Workers, 'size' | 'countOf'>;
  readonly #connections: number;
  readonly #owners: ReadonlySet<string>;

  constructor(
    workers: Pick<Workers, 'size' | 'countOf'>,
    { limits, owners }: Pick<BusConfig, 'limits' | 'owners'>,
  ) {
    this.#workers = workers;
    this.#connections = limits.connections;
    this.#owners = new Set(owners.map(({ token }) => token));
  }

  /** @param token name of what the connection came with; null without one @throws Unavailable (`too_many_connections`) */
  check(token: string | null): void {
    const owns = token !== null && this.#owners.has(token);
    const reserved = owns || this.#owners.size === 0 ? 0 : Math.floor(this.#connections * reservedShare);
    checkRoom(this.#workers.size, this.#connections - reserved);
    if (owns || token === null) return;
    checkRoom(this.#workers.countOf(token), Math.ceil(this.#connections * shareOfOne));
  }
}

/** @throws Unavailable (`too_many_connections`) */
export function checkRoom(open: number, most: number): void {
  if (open < most) return;
  throw new Unavailable('too_many_connections', `${most} connections of this kind are open, the limit`, {
    retryAfter: 5,
  });
}
