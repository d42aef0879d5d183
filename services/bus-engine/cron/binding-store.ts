import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Failed, messageOf } from '#kit/errors.ts';
import { transaction } from '#kit/storage/database.ts';
import { holdFolder } from '#kit/storage/lock.ts';
import { isSqliteDamage } from '#kit/storage/storage-error.ts';

export interface Binding {
  readonly id: string;
  readonly type: string;
  readonly functionId: string;
  readonly config: unknown;
  readonly metadata: unknown;
  readonly token: string | null;
  /** Whether it stays when the connection that registered it ends. */
  readonly durable: boolean;
  /** Of a cron binding: milliseconds since 1970. A tick that was missed stays due until it could be made. */
  readonly due: number | null;
}

const tables = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS binding (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    function_id TEXT NOT NULL,
    config TEXT NOT NULL,
    metadata TEXT NOT NULL,
    token TEXT,
    durable INTEGER NOT NULL,
    due INTEGER
  ) STRICT;
  CREATE TABLE IF NOT EXISTS set_aside (
    id TEXT PRIMARY KEY,
    why TEXT NOT NULL,
    row TEXT NOT NULL
  ) STRICT;
`;

/** A binding as JSON, for people to read in `set_aside`. */
const asObject =
  "json_object('type', type, 'function_id', function_id, 'config', config, 'metadata', metadata, 'token', token)";

type Row = Omit<Binding, 'functionId' | 'config' | 'metadata' | 'durable'> & {
  readonly function_id: string;
  readonly config: string;
  readonly metadata: string;
  readonly durable: number;
};

/** Triggers that outlive the process. */
export class BindingStore {
  readonly path: string;
  readonly #db: DatabaseSync;

  /** @throws what SQLite throws, also of a damaged row */
  constructor(path: string) {
    this.path = path;
    this.#db = new DatabaseSync(path);
    try {
      this.#db.exec(tables);
      this.all();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  all(): Binding[] {
    const rows = this.#db.prepare('SELECT * FROM binding ORDER BY rowid').all() as unknown as Row[];
    return rows.map(({ function_id, config, metadata, durable, ...row }) => ({
      ...row,
      functionId: function_id,
      config: JSON.parse(config),
      metadata: JSON.parse(metadata),
      durable: durable === 1,
    }));
  }

  put({ id, type, functionId, config, metadata, token, durable, due }: Binding): void {
    const texts = [JSON.stringify(config ?? null), JSON.stringify(metadata ?? null)] as const;
    this.#db
      .prepare('INSERT OR REPLACE INTO binding VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
      .run(id, type, functionId, ...texts, token, durable ? 1 : 0, due);
  }

  remove(id: string): void {
    this.#db.prepare('DELETE FROM binding WHERE id = ?').run(id);
  }

  /** Keeps one that cannot be used out of `all`, where a person can find it. */
  setAside(id: string, why: string): void {
    transaction(this.#db, () => {
      this.#db
        .prepare(`INSERT OR REPLACE INTO set_aside SELECT id, ?, ${asObject} FROM binding WHERE id = ?`)
        .run(why, id);
      this.remove(id);
    });
  }

  /** All or none. */
  setDue(changes: Iterable<readonly [id: string, due: number | null]>): void {
    const update = this.#db.prepare('UPDATE binding SET due = ? WHERE id = ?');
    transaction(this.#db, () => {
      for (const [id, due] of changes) update.run(due, id);
    });
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * Opens `<folder>/triggers.sqlite` for this process alone, and makes it where it is missing. A damaged one is set aside: workers
 * register their triggers again.
 * @throws Conflict (`bus_held`), Failed (`bus_store_unusable`)
 */
export function openBindings(folder: string): { readonly store: BindingStore; close(): void } {
  const hold = holdFolder(folder, { code: 'bus_held', name: 'the bus' });
  try {
    const store = openStore(join(folder, 'triggers.sqlite'));
    return {
      store,
      close() {
        store.close();
        hold.release();
      },
    };
  } catch (error) {
    hold.abandon();
    throw error;
  }
}

function openStore(path: string): BindingStore {
  try {
    return new BindingStore(path);
  } catch (error) {
    if (!isSqliteDamage(error))
      throw new Failed('bus_store_unusable', `${path} cannot be used: ${messageOf(error)}`, { cause: error });
  }
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.damaged${suffix}`);
  return new BindingStore(path);
}
