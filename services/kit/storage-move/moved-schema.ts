import { createHash } from 'node:crypto';
import { crashPoint } from '../crash-point.ts';
import { type Database, places, type Sql } from '../database/database.ts';
import { databaseFile } from '../database/open-database.ts';
import { migrateSchema } from '../database/postgres-migrations.ts';
import type { Schema } from '../database/schema.ts';
import { openSqlite } from '../database/sqlite.ts';
import { type Compared, differs, type MoveOptions, type MovePart } from './part.ts';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

export type Row = Readonly<Record<string, unknown>>;

export interface MovedSchemaOptions {
  /** For people, as in "rows of notifications". */
  readonly name: string;
  readonly schema: Schema;
  /** Tables whose rows stay behind: the target begins without any. */
  readonly notMoved: readonly string[];
  /** Tables with large values. Only few of their rows are in memory at a time. */
  readonly bytes?: readonly string[];
  /** Converts a row of the source for the target; default: unchanged. */
  readonly asMoved?: (table: string, row: Row) => Promise<Row>;
}

const pageRows = { usual: 500, bytes: 4 } as const;

/** The tables of a service, between a file and the database: the same on both sides, so that they are copied row by row. */
export class MovedSchema implements MovePart {
  readonly name: string;
  readonly #options: MovedSchemaOptions;
  readonly #move: MoveOptions;
  readonly #file: Database;

  constructor(options: MovedSchemaOptions, move: MoveOptions) {
    this.name = options.name;
    this.#options = options;
    this.#move = move;
    this.#file = openSqlite(databaseFile(move.folders, options.schema), options.schema);
  }

  async count(): Promise<number> {
    return this.#countIn(this.source);
  }

  /** Creates missing tables, in case the service never ran on the database. */
  async prepare(): Promise<void> {
    const { database } = this.#move;
    await database.transaction((sql) => migrateSchema(sql, this.#options.schema, database.name));
  }

  /** Each page is a commit. A move that was cut off begins its table again. */
  async copy(done: (entries: number) => void): Promise<void> {
    let entries = 0;
    for (const table of await this.#tables()) {
      await this.#target.write(`DELETE FROM ${table.name}`);
      if (this.#options.notMoved.includes(table.name)) continue;
      for await (const rows of this.#sourcePages(table)) {
        await this.#target.transaction((sql) => insert(sql, table, rows));
        crashPoint('storage.rows_written');
        entries += rows.length;
        done(entries);
      }
      if (this.#target.engine === 'postgres') await continueNumbers(this.#target, table);
    }
    done(entries);
  }

  async compare(done: (entries: number) => void): Promise<Compared> {
    const hash = createHash('sha256');
    let entries = 0;
    for (const table of await this.#movedTables()) {
      const other = pagesOf(this.#target, table, this.#pageOf(table));
      for await (const rows of this.#sourcePages(table)) {
        const { value = [] } = await other.next();
        rows.forEach((row, index) => {
          const line = canonical(row, table);
          if (value[index] === undefined || canonical(value[index], table) !== line)
            throw differs(table.name, `${keyText(row, table)} is not the same, or not there, in the target`);
          hash.update(`${line}\n`);
        });
        if (value.length > rows.length)
          throw differs(table.name, `${keyText(value[rows.length]!, table)} is in the target alone`);
        entries += rows.length;
      }
      const { value: more } = await other.next();
      if (more !== undefined) throw differs(table.name, `${keyText(more[0]!, table)} is in the target alone`);
    }
    done(entries);
    return { entries, sha256: hash.digest('hex') };
  }

  async foreignFiles(): Promise<string | null> {
    const rows = await this.#countIn(this.#file);
    return rows === 0 ? null : `${rows} ${this.name} in ${this.#file.name}`;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  protected get source(): Database {
    return this.#move.to === 'postgres' ? this.#file : this.#move.database;
  }

  get #target(): Database {
    return this.#move.to === 'postgres' ? this.#move.database : this.#file;
  }

  async *#sourcePages(table: Table): AsyncGenerator<readonly Row[]> {
    const { asMoved } = this.#options;
    for await (const rows of pagesOf(this.source, table, this.#pageOf(table)))
      yield asMoved === undefined ? rows : await Promise.all(rows.map((row) => asMoved(table.name, row)));
  }

  #pageOf({ name }: Table): number {
    return this.#options.bytes?.includes(name) === true ? pageRows.bytes : pageRows.usual;
  }

  async #countIn(database: Database): Promise<number> {
    let count = 0;
    for (const { name } of await this.#movedTables())
      count += (await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${name}`))[0]!.n;
    return count;
  }

  async #movedTables(): Promise<readonly Table[]> {
    return (await this.#tables()).filter(({ name }) => !this.#options.notMoved.includes(name));
  }

  /** Tables as in the file, which has the tables of this Core. */
  async #tables(): Promise<readonly Table[]> {
    const columns = await this.#file.query<{ name: string; column: string; place: number }>(
      `SELECT tables.name, info.name AS column, info.pk AS place FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS info
      WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%' ORDER BY tables.name, info.cid`,
    );
    return [...Map.groupBy(columns, ({ name }) => name)].map(([name, all]) => ({
      name,
      columns: all.map(({ column }) => column),
      key: all
        .filter(({ place }) => place > 0)
        .toSorted((a, b) => a.place - b.place)
        .map(({ column }) => column),
    }));
  }
}

/** In the order of the key, which both engines compare alike. */
async function* pagesOf(
  database: Database,
  { name, columns, key }: Table,
  size: number,
): AsyncGenerator<readonly Row[]> {
  let last: Row | null = null;
  for (;;) {
    const after: string = last === null ? '' : `WHERE (${key.join(', ')}) > (${places(key)})`;
    const rows: Row[] = await database.query<Row>(
      `SELECT ${columns.join(', ')} FROM ${name} ${after} ORDER BY ${key.join(', ')} LIMIT ${size}`,
      last === null ? [] : key.map((column) => last![column]),
    );
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    last = rows.at(-1)!;
  }
}

async function insert(sql: Sql, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  let number = 1;
  const tuples = rows.map(() => `(${columns.map(() => `$${number++}`).join(', ')})`);
  await sql.query(
    `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${tuples.join(', ')}`,
    rows.flatMap((row) => columns.map((column) => row[column])),
  );
}

/** The next row gets a number behind those that came with numbers of their own. */
async function continueNumbers(database: Database, { name }: Table): Promise<void> {
  const numbered = await database.query<{ column: string }>(
    "SELECT column_name AS column FROM information_schema.columns WHERE table_name = $1 AND is_identity = 'YES'",
    [name],
  );
  for (const { column } of numbered)
    await database.write(
      `SELECT setval(pg_get_serial_sequence('${name}', '${column}'), greatest((SELECT max(${column}) FROM ${name}), 1),
       EXISTS (SELECT 1 FROM ${name}))`,
    );
}

function canonical(row: Row, { columns }: Table): string {
  return JSON.stringify(
    columns.map((column) => {
      const value = row[column];
      return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
    }),
  );
}

function keyText(row: Row, { key }: Table): string {
  return JSON.stringify(key.map((column) => row[column]).join(' '));
}
