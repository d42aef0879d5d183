import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { crashPoint } from '../crash-point.ts';
import type { Database, Sql } from '../database/database.ts';
import { postgresText } from '../database/postgres-text.ts';
import { Failed } from '../errors.ts';
import { transaction } from '../storage/database.ts';
import type { Compared, MoveOptions, MovePart } from './part.ts';

export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/** A kind of record that is a table on both sides. Both selections name the same columns, and give rows in the order of `key`. */
export interface MovedTable {
  readonly name: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  readonly sqlite: {
    readonly rows: string;
    put(db: DatabaseSync, row: Row): void;
    remove(db: DatabaseSync, row: Row): void;
  };
  readonly postgres: {
    readonly rows: string;
    put(sql: Sql, rows: readonly Row[]): Promise<void>;
    remove(sql: Sql, rows: readonly Row[]): Promise<void>;
  };
  /** Called in the files' favour or the database's, once all rows are there. */
  readonly finish?: (sql: Sql) => Promise<void>;
}

const pageRows = 500;

interface Visitor {
  both?(row: string): void;
  onlyFiles?(row: Row): void;
  onlyDatabase?(row: Row): void;
  /** After each page. */
  turn?(): Promise<void>;
}

interface Side {
  readonly path: string;
  /** Held by this process alone. */
  readonly writer: DatabaseSync;
}

/**
 * Makes one side's table what the other's is: what differs goes first, so that nothing that comes meets another row of its name.
 * Each page is a commit; a move that was cut off finds what it did already.
 */
export class MovedRows implements MovePart {
  readonly name: string;
  readonly #table: MovedTable;
  readonly #side: Side;
  readonly #options: MoveOptions;

  constructor(table: MovedTable, side: Side, options: MoveOptions) {
    this.name = table.name;
    this.#table = table;
    this.#side = side;
    this.#options = options;
  }

  async count(): Promise<number> {
    return this.#options.to === 'postgres' ? this.#countFiles() : this.#countDatabase();
  }

  async prepare(): Promise<void> {}

  async copy(done: (entries: number) => void): Promise<void> {
    const toFiles = this.#options.to === 'files';
    const [extra, missing] = toFiles
      ? (['onlyFiles', 'onlyDatabase'] as const)
      : (['onlyDatabase', 'onlyFiles'] as const);
    for (const [which, write] of [
      [extra, (rows: readonly Row[]) => this.#remove(rows)],
      [missing, (rows: readonly Row[]) => this.#put(rows)],
    ] as const) {
      let found: Row[] = [];
      const flush = async () => {
        for (; found.length > 0; found = found.slice(pageRows)) {
          await write(found.slice(0, pageRows));
          crashPoint('storage.rows_written');
        }
      };
      await this.#merge({
        [which]: (row: Row) => found.push(row),
        turn: async () => {
          if (found.length >= pageRows) await flush();
        },
      });
      await flush();
    }
    if (!toFiles) await this.#options.database.transaction(async (sql) => this.#table.finish?.(sql));
    done(await this.count());
  }

  async compare(done: (entries: number) => void): Promise<Compared> {
    const hash = createHash('sha256');
    let entries = 0;
    const differ = (has: string, lacks: string) => (row: Row) => {
      const key = this.#table.key.map((name) => row[name]).join(' ');
      throw differs(this.name, `${JSON.stringify(key)} is in ${has} and not, or otherwise, in ${lacks}`);
    };
    await this.#merge({
      both(row) {
        hash.update(`${row}\n`);
        entries++;
      },
      onlyFiles: differ('files', 'the database'),
      onlyDatabase: differ('the database', 'files'),
    });
    done(entries);
    return { entries, sha256: hash.digest('hex') };
  }

  async foreignFiles(): Promise<string | null> {
    const rows = this.#countFiles();
    return rows === 0 ? null : `${rows} ${this.name} in ${this.#side.path}`;
  }

  async close(): Promise<void> {}

  /** Both sides in the order of the key, side by side. */
  async #merge(visitor: Visitor): Promise<void> {
    const { key, sqlite, postgres } = this.#table;
    const reader = new DatabaseSync(this.#side.path, { readOnly: true, timeout: 5_000 });
    try {
      const files = reader.prepare(sqlite.rows).iterate();
      const next = (): Row | null => {
        const { done, value } = files.next();
        return done === true ? null : sound(value as Row);
      };
      let own = next();
      await eachPage<Row>(this.#options.database, postgres.rows, async (page) => {
        for (const found of page) {
          const row = sound(found);
          for (; own !== null && order(own, row, key) < 0; own = next()) visitor.onlyFiles?.(own);
          const [here, there] = [own === null ? null : canonical(own), canonical(row)];
          if (here === there) visitor.both?.(there);
          else visitor.onlyDatabase?.(row);
          if (own === null || order(own, row, key) !== 0) continue;
          if (here !== there) visitor.onlyFiles?.(own);
          own = next();
        }
        await visitor.turn?.();
      });
      for (let count = 1; own !== null; own = next(), count++) {
        visitor.onlyFiles?.(own);
        if (count % pageRows === 0) await visitor.turn?.();
      }
    } finally {
      reader.close();
    }
  }

  async #put(rows: readonly Row[]): Promise<void> {
    if (this.#options.to === 'postgres')
      return this.#options.database.transaction((sql) => this.#table.postgres.put(sql, rows));
    const { writer } = this.#side;
    transaction(writer, () => {
      for (const row of rows) this.#table.sqlite.put(writer, row);
    });
  }

  async #remove(rows: readonly Row[]): Promise<void> {
    if (this.#options.to === 'postgres')
      return this.#options.database.transaction((sql) => this.#table.postgres.remove(sql, rows));
    const { writer } = this.#side;
    transaction(writer, () => {
      for (const row of rows) this.#table.sqlite.remove(writer, row);
    });
  }

  #countFiles(): number {
    return Number(
      this.#side.writer.prepare(`SELECT count(*) AS n FROM (${this.#table.sqlite.rows})`).get()!.n,
    );
  }

  async #countDatabase(): Promise<number> {
    const [row] = await this.#options.database.query<{ n: string }>(
      `SELECT count(*) AS n FROM (${this.#table.postgres.rows}) AS rows`,
    );
    return Number(row?.n);
  }
}

export function differs(name: string, what: string): Failed {
  return new Failed('storage_move_differs', `${name}: ${what}`, {
    facts: { records: name },
    hint: 'Nothing was switched over: what was in use before is in use still. Run the command again.',
  });
}

/** Rows of a selection by pages, all as of one moment. */
export async function eachPage<R extends object>(
  database: Database,
  select: string,
  visit: (rows: readonly R[]) => Promise<void>,
): Promise<void> {
  await database.transaction(async (sql) => {
    await sql.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await sql.query(`DECLARE moved NO SCROLL CURSOR FOR ${select}`);
    for (;;) {
      const rows = await sql.query<R>(`FETCH ${pageRows} FROM moved`);
      if (rows.length === 0) break;
      await visit(rows);
    }
    await sql.query('CLOSE moved');
  });
}

/** As both sides can hold it. */
function sound(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? postgresText(value) : value,
    ]),
  );
}

function canonical(row: Row): string {
  return JSON.stringify(
    Object.keys(row)
      .toSorted()
      .map((name) => [name, row[name]]),
  );
}

/** Texts by their bytes, as `COLLATE "C"` and SQLite compare them. */
function order(a: Row, b: Row, key: readonly string[]): number {
  for (const name of key) {
    const [x, y] = [a[name], b[name]];
    const by =
      typeof x === 'number' && typeof y === 'number'
        ? x - y
        : Buffer.compare(Buffer.from(String(x)), Buffer.from(String(y)));
    if (by !== 0) return by;
  }
  return 0;
}
