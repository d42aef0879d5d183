import type { SQLInputValue } from 'node:sqlite';
import type { Sql } from '../database/database.ts';
import type { MovedTable, Row, Value } from './moved-tables.ts';

/** Of a table whose columns have the same names and meaning on both sides. */
export interface SameColumns {
  readonly name: string;
  readonly sqlite: string;
  readonly postgres: string;
  readonly key: readonly string[];
  /** By column, its type in PostgreSQL. */
  readonly columns: Readonly<Record<string, 'bigint' | 'text'>>;
  /** Of the database alone, made of what a row says; by column with its type. */
  readonly derived?: {
    readonly columns: Readonly<Record<string, string>>;
    values(row: Row): Readonly<Record<string, Value | boolean>>;
  };
  readonly finish?: (sql: Sql) => Promise<void>;
}

export function sameColumns({
  name,
  sqlite,
  postgres,
  key,
  columns,
  derived,
  finish,
}: SameColumns): MovedTable {
  const names = Object.keys(columns);
  const isText = (column: string) => columns[column] === 'text';
  const selected = names.map((column) => (isText(column) ? column : `${column}::float8 AS ${column}`));
  const own = { ...columns, ...derived?.columns };
  const types = Object.entries(own).map(([column, type]) => `${column} ${type}`);
  const isKey = key.map((column) => `${column} = ?`).join(' AND ');
  return {
    name,
    key,
    sqlite: {
      rows: `SELECT ${names.join(', ')} FROM ${sqlite} ORDER BY ${key.join(', ')}`,
      put(db, row) {
        db.prepare(
          `INSERT INTO ${sqlite} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
        ).run(...names.map((column) => row[column] as SQLInputValue));
      },
      remove(db, row) {
        db.prepare(`DELETE FROM ${sqlite} WHERE ${isKey}`).run(
          ...key.map((column) => row[column] as SQLInputValue),
        );
      },
    },
    postgres: {
      rows: `SELECT ${selected.join(', ')} FROM ${postgres} ORDER BY ${key
        .map((column) => (isText(column) ? `${postgres}.${column} COLLATE "C"` : `${postgres}.${column}`))
        .join(', ')}`,
      async put(sql, rows) {
        const all = rows.map((row) => ({ ...row, ...derived?.values(row) }));
        await sql.query(
          `INSERT INTO ${postgres} (${Object.keys(own).join(', ')}) OVERRIDING SYSTEM VALUE
           SELECT ${Object.keys(own).join(', ')} FROM json_to_recordset($1::json) AS given (${types.join(', ')})`,
          [JSON.stringify(all)],
        );
      },
      async remove(sql, rows) {
        await sql.query(
          `DELETE FROM ${postgres} USING json_to_recordset($1::json) AS given (${key.map((column) => `${column} ${columns[column]}`).join(', ')})
           WHERE ${key.map((column) => `${postgres}.${column} = given.${column}`).join(' AND ')}`,
          [JSON.stringify(rows)],
        );
      },
    },
    ...(finish === undefined ? {} : { finish }),
  };
}

/** The next row gets a number behind those that came with numbers of their own. */
export function continueNumbers(table: string): (sql: Sql) => Promise<void> {
  return async (sql) => {
    await sql.query(
      `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), greatest((SELECT max(seq) FROM ${table}), 1),
         EXISTS (SELECT 1 FROM ${table}))`,
    );
  };
}
