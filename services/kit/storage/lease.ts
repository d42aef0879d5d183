import type { DatabaseSync } from 'node:sqlite';
import { guarded } from '../callbacks.ts';
import type { LeaseHolder } from '../contracts/lease-holder.ts';
import { Conflict } from '../errors.ts';
import type { Permit } from '../permit.ts';
import { transaction } from './database.ts';
import { isRunning, thisProcess } from './process-identity.ts';

/** A named, exclusive right for a while; renews itself until released. */
export interface HeldLease {
  readonly name: string;
  /** Aborted when somebody else took the lease, or when it could not be renewed in time. */
  readonly lost: AbortSignal;
  /** False: its holders read the same clock. */
  readonly shared: false;
  /** Asks the database again whenever it is required. */
  permit(): Promise<Permit>;
  release(): Promise<void>;
}

export interface Leases {
  /** @throws Conflict (`lease_held`) naming the holder */
  acquire(name: string): HeldLease;
  /** Who holds it now; null when nobody living does. */
  holder(name: string): LeaseHolder | null;
  /** Releases everything that this object holds. */
  close(): void;
}

export interface LeaseOptions {
  /** How long a lease outlives a holder that cannot be seen from here; renewed three times as often. */
  readonly durationMs?: number;
  readonly now?: () => number;
}

interface Row extends LeaseHolder {
  readonly token: string;
  readonly acquired_at: number;
  readonly expires_at: number;
}

interface Held {
  readonly token: string;
  readonly acquired_at: number;
  readonly controller: AbortController;
  expires_at: number;
}

/**
 * Leases in a table of an SQLite database. A holder whose process can be seen from here keeps its lease exactly as long as it
 * lives: a crash frees it at once, a pause frees it never. A holder elsewhere keeps it until it expires.
 *
 * @param database gives the open database; asked every time, because a database that can be rebuilt may be opened again. Its
 *   leases then come back with the next renewal, if nobody else took them.
 */
export function createLeases(database: () => DatabaseSync, options: LeaseOptions = {}): Leases {
  const durationMs = options.durationMs ?? 30_000;
  const now = options.now ?? Date.now;
  const held = new Map<string, Held>();
  /** Tokens and names of leases that were released, but whose rows the database would not let go: its disk was full. */
  const leaving = new Map<string, string>();
  const prepared = new WeakMap<DatabaseSync, Statements>();
  let timer: NodeJS.Timeout | undefined;

  return { acquire, holder, close };

  function acquire(name: string): HeldLease {
    removeLeaving();
    const lease: Held = {
      token: crypto.randomUUID(),
      acquired_at: now(),
      controller: new AbortController(),
      expires_at: now() + durationMs,
    };
    const { find, put } = statements();
    transaction(database(), () => {
      const row = find.get(name) as unknown as Row | undefined;
      if (row !== undefined && isHeld(row)) throw heldBy(name, row);
      put.run(...columns(name, lease));
    });
    held.set(name, lease);
    timer ??= setInterval(guarded('a lease', renewAll), durationMs / 3).unref();
    const { signal } = lease.controller;
    const require = (): void => {
      if (held.get(name) === lease) renew(name, lease);
      if (held.get(name) !== lease) throw lostTo(name);
    };
    return {
      name,
      lost: signal,
      shared: false,
      permit: async () => ({ require }),
      release: async () => release(name, lease),
    };
  }

  function holder(name: string): LeaseHolder | null {
    removeLeaving();
    const row = statements().find.get(name) as unknown as Row | undefined;
    return row !== undefined && isHeld(row) ? row : null;
  }

  function isHeld(row: Row): boolean {
    return isRunning(row) ?? row.expires_at > now();
  }

  function renewAll(): void {
    removeLeaving();
    stopWhenIdle();
    for (const [name, lease] of held) {
      try {
        renew(name, lease);
      } catch {
        // The database is busy or gone: the next turn tries again, until the lease has run out.
        if (lease.expires_at <= now()) lose(name, lease);
      }
    }
  }

  function renew(name: string, lease: Held): void {
    const { extend, putIfAbsent } = statements();
    const expires_at = now() + durationMs;
    const renewed =
      extend.run(expires_at, name, lease.token).changes > 0 ||
      putIfAbsent.run(...columns(name, { ...lease, expires_at })).changes > 0;
    if (renewed) lease.expires_at = expires_at;
    else lose(name, lease);
  }

  function lose(name: string, lease: Held): void {
    held.delete(name);
    lease.controller.abort(lostTo(name));
    stopWhenIdle();
  }

  function release(name: string, lease: Held): void {
    if (held.get(name) !== lease) return;
    held.delete(name);
    leaving.set(lease.token, name);
    removeLeaving();
    stopWhenIdle();
  }

  function removeLeaving(): void {
    for (const [token, name] of leaving) {
      try {
        statements().remove.run(name, token);
        leaving.delete(token);
      } catch {
        // Tried again at every turn. A process that ends lets go of everything anyway.
      }
    }
  }

  function close(): void {
    for (const [name, lease] of [...held]) release(name, lease);
    leaving.clear();
    stopWhenIdle();
  }

  function stopWhenIdle(): void {
    if (held.size + leaving.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** Prepared once for each database: every event that is appended asks for the holder. */
  function statements(): Statements {
    const db = database();
    const found = prepared.get(db) ?? prepareStatements(db);
    prepared.set(db, found);
    return found;
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(db: DatabaseSync) {
  createLeaseTable(db);
  const values = 'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
  return {
    find: db.prepare('SELECT * FROM leases WHERE name = ?'),
    put: db.prepare(`INSERT OR REPLACE INTO leases ${values}`),
    putIfAbsent: db.prepare(`INSERT INTO leases ${values} ON CONFLICT (name) DO NOTHING`),
    extend: db.prepare('UPDATE leases SET expires_at = ? WHERE name = ? AND token = ?'),
    remove: db.prepare('DELETE FROM leases WHERE name = ? AND token = ?'),
  };
}

/** @throws Conflict (`lease_held`) naming somebody living who holds any lease */
export function requireNoHolder(db: DatabaseSync): void {
  createLeaseTable(db);
  const rows = db.prepare('SELECT * FROM leases ORDER BY name').all() as unknown as (Row & {
    name: string;
  })[];
  const row = rows.find((one) => isRunning(one) ?? one.expires_at > Date.now());
  if (row !== undefined) throw heldBy(row.name, row);
}

/** Done by itself with the first lease; do it earlier where that could happen in a transaction that is rolled back. */
export function createLeaseTable(db: DatabaseSync): void {
  db.exec(`CREATE TABLE IF NOT EXISTS leases (
    name TEXT PRIMARY KEY, token TEXT NOT NULL, boot_id TEXT NOT NULL, pid_namespace TEXT NOT NULL, pid INTEGER NOT NULL,
    process_started TEXT NOT NULL, host TEXT NOT NULL, acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT`);
}

function columns(
  name: string,
  lease: Pick<Held, 'token' | 'acquired_at' | 'expires_at'>,
): [string, string, string, string, number, string, string, number, number] {
  const { boot_id, pid_namespace, pid, process_started, host } = thisProcess();
  const { token, acquired_at, expires_at } = lease;
  return [name, token, boot_id, pid_namespace, pid, process_started, host, acquired_at, expires_at];
}

function lostTo(name: string): Conflict {
  return new Conflict('lease_lost', `${name} was lost to another process`);
}

function heldBy(name: string, row: Row): Conflict {
  const { pid, host, acquired_at, expires_at } = row;
  const running = isRunning(row);
  const seen =
    running === null
      ? `; free at ${new Date(expires_at).toISOString()} if that process does not renew it`
      : '';
  return new Conflict(
    'lease_held',
    `${name} is held by process ${pid} on ${host} since ${new Date(acquired_at).toISOString()}${seen}`,
    {
      facts: { name, pid, host, acquired_at: new Date(acquired_at).toISOString() },
      ...(running === null ? { retryAfter: Math.max(1, Math.ceil((expires_at - Date.now()) / 1000)) } : {}),
      hint: 'Wait for it to finish, or end that process.',
    },
  );
}
