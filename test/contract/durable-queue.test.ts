import { DatabaseSync } from 'node:sqlite';
import { PostgresJobs } from '#kit/jobs/postgres-jobs.ts';
import { jobColumns, SqliteJobs } from '#kit/jobs/sqlite-jobs.ts';
import { openPostgres } from '#kit/postgres/database.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';
import { durableQueueContract, mails } from './durable-queue.contract.ts';

const begin = 1_000_000;

durableQueueContract('a file', async () => {
  let now = begin;
  const db = new DatabaseSync(':memory:');
  db.exec(`CREATE TABLE mails (${jobColumns}, box TEXT NOT NULL);
    CREATE INDEX mails_due ON mails (due_at) WHERE state = 'pending'`);
  const insert = db.prepare("INSERT INTO mails (state, due_at, changed_at, box) VALUES ('pending', ?, ?, ?)");
  return {
    rows: new SqliteJobs(db, mails, { now: () => now }),
    now: () => now,
    async set(time) {
      now = time;
    },
    async add(box) {
      insert.run(now, now, box);
    },
    row: async (seq) => db.prepare('SELECT * FROM mails WHERE seq = ?').get(seq)!,
    change: async (sql) => db.exec(sql),
    end: async () => db.close(),
  };
});

describeWith(['postgres'], 'jobs in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  durableQueueContract('a database', async () => {
    const database = openPostgres(await server.database(), 'core-test');
    let now = begin;
    await database.query(`CREATE TABLE test_clock AS SELECT ${begin}::bigint AS ms`);
    await database.query(
      "CREATE OR REPLACE FUNCTION core_clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM test_clock'",
    );
    await database.query(`CREATE TABLE mails (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, box text NOT NULL,
      state text NOT NULL DEFAULT 'pending', attempts integer NOT NULL DEFAULT 0, due_at bigint DEFAULT core_clock_ms(),
      claim bigint, claimed_until bigint, changed_at bigint NOT NULL DEFAULT core_clock_ms(), reason_code text, reason text)`);
    const rows = new PostgresJobs(database, mails);
    return {
      rows,
      now: () => now,
      async set(time) {
        now = time;
        await database.query('UPDATE test_clock SET ms = $1', [now]);
      },
      async add(box) {
        await database.query('INSERT INTO mails (box) VALUES ($1)', [box]);
      },
      async row(seq) {
        const sql = 'SELECT to_jsonb(mails.*) AS row FROM mails WHERE seq = $1';
        const [found] = await database.query<{ row: Record<string, unknown> }>(sql, [seq]);
        return found!.row;
      },
      async change(sql) {
        await database.query(sql);
      },
      async end() {
        rows.close();
        await database.close();
      },
    };
  });
});
