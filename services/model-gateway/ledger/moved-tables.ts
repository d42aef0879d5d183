import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Sql } from '#kit/database/database.ts';
import type { MovedTable, Row } from '#kit/storage-move/moved-tables.ts';
import { numberOfCall, uuidOfCall } from './numbered-calls.ts';

const usage = ['input', 'output', 'cached', 'cache_writes'];
const float = (names: readonly string[]) => names.map((name) => `${name}::float8 AS ${name}`).join(', ');
/** Milliseconds since 1970 of a column of PostgreSQL. */
const ms = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8 AS ${column}`;
const given = (sql: Sql, text: string, types: string, rows: readonly unknown[]) =>
  sql.query(text.replace('given', `json_to_recordset($1::json) AS given (${types})`), [JSON.stringify(rows)]);

/** In the order in which they were made, which is that of lists. */
export const keysTable: MovedTable = {
  name: 'keys of runs',
  key: ['created_at', 'id'],
  sqlite: {
    rows: `SELECT id, sha256, run, models, budget, ${['created_at', 'expires_at', 'revoked_at']
      .map((name) => `cast(round(unixepoch(${name}, 'subsec') * 1000) AS INTEGER) AS ${name}`)
      .join(', ')} FROM keys ORDER BY keys.created_at, id`,
    put(db, row) {
      const time = (name: string) => (row[name] == null ? null : new Date(Number(row[name])).toISOString());
      db.prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
        ...values(row, ['id', 'sha256', 'run', 'models', 'budget']),
        ...[time('created_at'), time('expires_at'), time('revoked_at')],
      );
    },
    remove: (db, row) => void db.prepare('DELETE FROM keys WHERE id = ?').run(...values(row, ['id'])),
  },
  postgres: {
    rows: `SELECT id, sha256, run, array_to_json(models)::text AS models, budget::float8 AS budget,
      ${ms('created_at')}, ${ms('expires_at')}, ${ms('revoked_at')}
      FROM gateway_keys ORDER BY floor(extract(epoch FROM gateway_keys.created_at) * 1000), id COLLATE "C"`,
    async put(sql, rows) {
      const time = (name: string) => `'epoch'::timestamptz + ${name} * interval '1 millisecond'`;
      await given(
        sql,
        `INSERT INTO gateway_keys (id, sha256, run, models, budget, created_at, expires_at, revoked_at)
         SELECT id, sha256, run, CASE WHEN models IS NULL THEN NULL ELSE ARRAY(SELECT json_array_elements_text(models::json)) END,
           budget, ${time('created_at')}, ${time('expires_at')}, ${time('revoked_at')} FROM given`,
        'id text, sha256 text, run text, models text, budget bigint, created_at bigint, expires_at bigint, revoked_at bigint',
        rows,
      );
    },
    async remove(sql, rows) {
      await given(
        sql,
        'DELETE FROM gateway_keys USING given WHERE gateway_keys.id = given.id',
        'id text',
        rows,
      );
    },
  },
};

const states = ['under_way', 'done', 'aborted', 'failed', 'unsettled'];
const flags = ['estimated', 'contradictory'];
const callNumbers = [...usage, 'cost', 'sent_bytes', 'ms', 'first_token_ms'];
const callColumns = [...callNumbers, ...flags];

export const callsTable: MovedTable = {
  name: 'calls of models',
  key: ['call'],
  sqlite: {
    rows: `SELECT call, accounts.key AS account, accounts.run AS run, models.name AS model, upstreams.name AS upstream,
      CASE state ${states.map((state, value) => `WHEN ${value} THEN '${state}'`).join(' ')} END AS state, ${callColumns.join(', ')}
      FROM calls JOIN accounts USING (account) JOIN names AS models ON models.id = model
        JOIN names AS upstreams ON upstreams.id = upstream ORDER BY call`,
    put(db, row) {
      db.prepare(
        `INSERT INTO calls (call, account, model, upstream, state, ${callColumns.join(', ')})
         VALUES (?, ?, ?, ?, ?, ${callColumns.map(() => '?').join(', ')})`,
      ).run(
        ...[row.call as number, ...idsOf(db, row), states.indexOf(String(row.state))],
        ...values(row, callColumns),
      );
    },
    remove: (db, row) => void db.prepare('DELETE FROM calls WHERE call = ?').run(...values(row, ['call'])),
  },
  postgres: {
    rows: `SELECT (${numberOfCall})::float8 AS call, account, run, model, upstream, state, ${float(callNumbers)},
      ${flags.map((name) => `${name}::int AS ${name}`).join(', ')} FROM gateway_calls ORDER BY id`,
    async put(sql, rows) {
      const began = "'epoch'::timestamptz + (call / 1024) * interval '1 millisecond'";
      await given(
        sql,
        `INSERT INTO gateway_calls (id, gateway, began_at, day, account, run, model, upstream, state, reserved, ${callColumns.join(', ')})
         SELECT id, '00000000-0000-0000-0000-000000000000', ${began}, to_char((${began}) AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
           account, run, model, upstream, state, 0, ${callColumns.map((name) => (flags.includes(name) ? `${name} = 1` : name)).join(', ')}
         FROM given`,
        `id uuid, call bigint, account text, run text, model text, upstream text, state text, ${callColumns.map((name) => `${name} bigint`).join(', ')}`,
        rows.map((row) => ({ ...row, id: uuidOfCall(row.call as number) })),
      );
    },
    async remove(sql, rows) {
      await sql.query('DELETE FROM gateway_calls WHERE id = ANY($1)', [
        rows.map((row) => uuidOfCall(row.call as number)),
      ]);
    },
  },
};

const sums = [...['calls', 'aborted', 'failed', 'estimated', 'unsettled'], ...usage, 'cost', 'contradictory'];
const totalsKey = ['account', 'day', 'model', 'upstream'];

export const totalsTable: MovedTable = {
  name: 'sums of calls by day',
  key: totalsKey,
  sqlite: {
    rows: `SELECT accounts.key AS account, accounts.run AS run, day, models.name AS model, upstreams.name AS upstream, ${sums.join(', ')}
      FROM totals JOIN accounts USING (account) JOIN names AS models ON models.id = model
        JOIN names AS upstreams ON upstreams.id = upstream
      ORDER BY accounts.key, day, models.name, upstreams.name`,
    put(db, row) {
      const [account, model, upstream] = idsOf(db, row);
      db.prepare(`INSERT INTO totals VALUES (?, ?, ?, ?, ${sums.map(() => '?').join(', ')})`).run(
        ...[account!, row.day as string, model!, upstream!],
        ...values(row, sums),
      );
    },
    remove(db, row) {
      const [account, model, upstream] = idsOf(db, row);
      db.prepare('DELETE FROM totals WHERE account = ? AND day = ? AND model = ? AND upstream = ?').run(
        ...[account!, row.day as string, model!, upstream!],
      );
    },
  },
  postgres: {
    rows: `SELECT account, run, day, model, upstream, ${float(sums)} FROM gateway_totals
      ORDER BY ${totalsKey.map((name) => `gateway_totals.${name} COLLATE "C"`).join(', ')}`,
    async put(sql, rows) {
      const names = [...totalsKey, 'run', ...sums];
      await given(
        sql,
        `INSERT INTO gateway_totals (${names.join(', ')}) SELECT ${names.join(', ')} FROM given`,
        names.map((name) => `${name} ${sums.includes(name) ? 'bigint' : 'text'}`).join(', '),
        rows,
      );
    },
    async remove(sql, rows) {
      await given(
        sql,
        `DELETE FROM gateway_totals AS kept USING given WHERE ${totalsKey.map((name) => `kept.${name} = given.${name}`).join(' AND ')}`,
        totalsKey.map((name) => `${name} text`).join(', '),
        rows,
      );
    },
  },
};

function values(row: Row, names: readonly string[]): SQLInputValue[] {
  return names.map((name) => row[name] as SQLInputValue);
}

/** What `ledger.sqlite` calls account, model and upstream of a row; made where they have no number yet. */
function idsOf(db: DatabaseSync, row: Row): [number, number, number] {
  const [account, run, model, upstream] = values(row, ['account', 'run', 'model', 'upstream']);
  db.prepare('INSERT OR IGNORE INTO accounts (key, run) VALUES (?, ?)').run(account!, run!);
  db.prepare('INSERT OR IGNORE INTO names (name) VALUES (?), (?)').run(model!, upstream!);
  const name = db.prepare('SELECT id FROM names WHERE name = ?');
  return [
    Number(db.prepare('SELECT account FROM accounts WHERE key = ?').get(account!)!.account),
    Number(name.get(model!)!.id),
    Number(name.get(upstream!)!.id),
  ];
}
