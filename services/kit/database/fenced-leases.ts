import { guarded } from '../callbacks.ts';
import type { LeaseHolder } from '../contracts/lease-holder.ts';
import { Conflict, codeOf } from '../errors.ts';
import { type Moment, momentIn, msUntil } from '../moment.ts';
import { type Permit, PermitEnded } from '../permit.ts';
import { isRunning, thisProcess } from '../storage/process-identity.ts';
import { type Database, places, rowLock, type Sql } from './database.ts';
import type { ColumnTypes } from './schema.ts';

/** A named, exclusive right for a while; renews itself until released. */
export interface FencedLease {
  readonly name: string;
  /** Fencing token: higher than the token of each earlier holder. */
  readonly fencing: number;
  /**
   * Aborted when another process took the lease, or when it could not be renewed in time. The next renewal notices this, so an effect
   * must call `permit`, and a write `fence`.
   */
  readonly lost: AbortSignal;
  /** True: its holders are on hosts with clocks of their own. */
  readonly shared: true;
  /** Renews the lease in the database. @throws Conflict (`lease_lost`), Unavailable (`database_unavailable`) */
  permit(): Promise<Permit>;
  /** Others can take it when this resolves. Never rejects. */
  release(): Promise<void>;
}

export interface FencedLeases {
  /** @throws Conflict (`lease_held`) naming the holder */
  acquire(name: string): Promise<FencedLease>;
  /**
   * Holds the lease of this name until the transaction ends, if this process took it and did not release it; does nothing otherwise.
   * @throws Conflict (`lease_lost`) if another process took it since, or if it was given up because it could not be renewed in time
   */
  fence(sql: Sql, name: string): Promise<void>;
  /**
   * Lease of this name, if this process took it and did not release it; for a write of one statement, which checks `leases.token` itself.
   * @throws Conflict (`lease_lost`) if it was given up
   */
  held(name: string): HeldLease | null;
  /** Releases all leases that this object holds. */
  close(): Promise<void>;
}

export interface HeldLease {
  readonly token: string;
  /** Gives the lease up and returns the error. Call it if the database has another token. */
  lost(): Conflict;
}

interface Held {
  readonly token: string;
  readonly controller: AbortController;
  /** End of the time in which no other process can take the lease. */
  until: Moment;
}

interface Row extends LeaseHolder {
  readonly name: string;
  readonly token: string;
  readonly acquired_at: number;
  readonly expires_at: number;
  /** Remaining time by the database's clock, in ms. */
  readonly left_ms: number;
}

export interface FencedLeaseOptions {
  /** Time that a lease outlives its holder, in ms. A lease is renewed three times in this time. */
  readonly durationMs?: number;
}

/** An effect leaves only while more than this part of a lease's time is left. */
const marginPart = 10;

/** SQL condition for an expired row of `leases`. */
export const isExpired = 'leases.expires_at <= (SELECT core_clock_ms())';

/**
 * Times are milliseconds since 1970, by the clock of the database. A row stays when its lease is released, so that its numbers rise.
 * The services of one PostgreSQL share the table.
 */
export function leaseTables({ text, integer, strict }: ColumnTypes): string {
  return `
    CREATE TABLE IF NOT EXISTS leases (
      name ${text} PRIMARY KEY,
      token ${text} NOT NULL,
      fencing ${integer} NOT NULL,
      boot_id ${text} NOT NULL,
      pid_namespace ${text} NOT NULL,
      pid ${integer} NOT NULL,
      process_started ${text} NOT NULL,
      host ${text} NOT NULL,
      acquired_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    )${strict};`;
}

/**
 * Leases in a table of the database, by the clock of the database. A holder on another host keeps its lease until it expires. A holder
 * on this machine that has ended loses it immediately.
 */
export function createFencedLeases(
  database: Database,
  { durationMs = 30_000 }: FencedLeaseOptions = {},
): FencedLeases {
  const held = new Map<string, Held>();
  /** Tokens by name: of the last `acquire` without an answer, and of the last `release` without one. They mean a free lease. */
  const asked = new Map<string, string>();
  const left = new Map<string, string>();
  const leaving = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  return { acquire, fence, held: heldHere, close };

  async function acquire(name: string): Promise<FencedLease> {
    await Promise.all(leaving);
    const until = momentIn(durationMs);
    const token = asked.get(name) ?? crypto.randomUUID();
    asked.delete(name);
    const fencing = await takeAs(name, token);
    left.delete(name);
    const lease: Held = { token, controller: new AbortController(), until };
    held.set(name, lease);
    timer ??= setInterval(
      guarded('the leases', () => renewAll()),
      durationMs / 3,
    ).unref();
    return {
      name,
      fencing,
      lost: lease.controller.signal,
      shared: true,
      permit: () => permit(name, lease),
      release: () => release(name, lease),
    };
  }

  async function takeAs(name: string, token: string): Promise<number> {
    try {
      const ours = [token, ...(left.has(name) ? [left.get(name)!] : [])];
      return (await take(name, token, ours)) ?? (await takeFromEnded(name, token));
    } catch (error) {
      if (codeOf(error) !== 'lease_held') asked.set(name, token);
      throw error;
    }
  }

  async function permit(name: string, lease: Held): Promise<Permit> {
    await renew([[name, lease]]);
    const { signal } = lease.controller;
    signal.throwIfAborted();
    if (held.get(name) !== lease) throw lostTo(name);
    return {
      require() {
        signal.throwIfAborted();
        if (msUntil(lease.until) < durationMs / marginPart) throw new PermitEnded(name);
      },
    };
  }

  /** Takes a lease. @returns its fencing token; null if another process holds it. @param ended tokens of holders that are known to have ended */
  async function take(name: string, token: string, ended: readonly string[]): Promise<number | null> {
    const { boot_id, pid_namespace, pid, process_started, host } = thisProcess();
    const values = [name, token, boot_id, pid_namespace, pid, process_started, host, durationMs];
    const isEnded = ended.length === 0 ? '' : `OR leases.token IN (${places(ended, values.length + 1)})`;
    const rows = await database.write<{ fencing: number }>(
      `INSERT INTO leases (name, token, fencing, boot_id, pid_namespace, pid, process_started, host, acquired_at, expires_at)
       VALUES ($1, $2, 1, $3, $4, $5, $6, $7, core_clock_ms(), core_clock_ms() + $8)
       ON CONFLICT (name) DO UPDATE SET
         token = excluded.token, boot_id = excluded.boot_id, pid_namespace = excluded.pid_namespace, pid = excluded.pid,
         process_started = excluded.process_started, host = excluded.host, acquired_at = excluded.acquired_at,
         expires_at = excluded.expires_at, fencing = leases.fencing + 1
       WHERE ${isExpired} ${isEnded}
       RETURNING fencing`,
      [...values, ...ended],
    );
    return rows[0]?.fencing ?? null;
  }

  async function takeFromEnded(name: string, token: string): Promise<number> {
    for (;;) {
      const row = await find(name);
      if (row !== null && isRunning(row) !== false) throw heldBy(name, row);
      const fencing = await take(name, token, row === null ? [] : [row.token]);
      if (fencing !== null) return fencing;
    }
  }

  async function find(name: string): Promise<Row | null> {
    const [row] = await database.query<Row>(
      `SELECT *, expires_at - core_clock_ms() AS left_ms FROM leases WHERE name = $1 AND NOT ${isExpired}`,
      [name],
    );
    return row ?? null;
  }

  async function fence(sql: Sql, name: string): Promise<void> {
    const lease = heldHere(name);
    if (lease === null) return;
    const lock = rowLock(sql, 'FOR SHARE');
    const rows = await sql.query(`SELECT 1 FROM leases WHERE name = $1 AND token = $2 ${lock}`, [
      name,
      lease.token,
    ]);
    if (rows.length === 0) throw lease.lost();
  }

  function heldHere(name: string): HeldLease | null {
    const lease = held.get(name);
    if (lease === undefined) return null;
    const { token, controller } = lease;
    controller.signal.throwIfAborted();
    return {
      token,
      lost() {
        const error = lostTo(name);
        controller.abort(error);
        return error;
      },
    };
  }

  async function renewAll(): Promise<void> {
    const renewing = [...held].filter(([, { controller }]) => !controller.signal.aborted);
    try {
      await renew(renewing);
    } catch {
      // The database is unavailable. The next turn tries again, until the lease expires.
      for (const [name, lease] of renewing)
        if (msUntil(lease.until) <= 0) lease.controller.abort(lostTo(name));
    }
  }

  async function renew(renewing: readonly (readonly [name: string, lease: Held])[]): Promise<void> {
    const until = momentIn(durationMs);
    if (renewing.length === 0) return;
    const tokens = renewing.map(([, { token }]) => token);
    const rows = await database.write<{ name: string }>(
      `UPDATE leases SET expires_at = core_clock_ms() + $1 WHERE token IN (${places(tokens, 2)}) RETURNING name`,
      [durationMs, ...tokens],
    );
    const renewed = new Set(rows.map(({ name }) => name));
    for (const [name, lease] of renewing) {
      if (renewed.has(name)) lease.until = until;
      else if (held.get(name) === lease) lease.controller.abort(lostTo(name));
    }
  }

  /** A lost lease stays in `held` until its holder releases it, so that `fence` refuses further writes of the holder. */
  async function release(name: string, lease: Held): Promise<void> {
    if (held.get(name) !== lease) return;
    held.delete(name);
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    const removing = database
      .write("UPDATE leases SET token = '', expires_at = 0 WHERE name = $1 AND token = $2", [
        name,
        lease.token,
      ])
      .then(
        () => {},
        // It expires by itself. This process can take it again before that.
        () => void left.set(name, lease.token),
      );
    leaving.add(removing);
    await removing;
    leaving.delete(removing);
  }

  async function close(): Promise<void> {
    await Promise.all([...held].map(([name, lease]) => release(name, lease)));
    await Promise.all(leaving);
  }
}

/** @throws Conflict (`lease_held`) if a process that is not known to have ended holds any lease */
export async function requireNoHolder(database: Sql): Promise<void> {
  const rows = await database.query<Row>(
    `SELECT *, expires_at - core_clock_ms() AS left_ms FROM leases WHERE NOT ${isExpired} ORDER BY name`,
  );
  const holder = rows.find((row) => isRunning(row) !== false);
  if (holder !== undefined) throw heldBy(holder.name, holder);
}

function lostTo(name: string): Conflict {
  return new Conflict('lease_lost', `${name} was lost to another process`, {
    hint: 'It goes on there, or with ./core resume RUN.',
  });
}

function heldBy(name: string, { pid, host, acquired_at, expires_at, left_ms }: Row): Conflict {
  return new Conflict(
    'lease_held',
    `${name} is held by process ${pid} on ${host} since ${at(acquired_at)}; free at ${at(expires_at)} if that host does not renew it`,
    {
      facts: { name, pid, host, acquired_at: at(acquired_at) },
      retryAfter: Math.max(1, Math.ceil(left_ms / 1000)),
      hint: 'Wait for it to finish, or end that process.',
    },
  );
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}
