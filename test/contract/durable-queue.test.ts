import { join } from 'node:path';
import type { Database } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { Schema } from '#kit/database/schema.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import { DatabaseJobs, jobColumns, jobIndexes } from '#kit/jobs/database-jobs.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { describeWith } from '../needs.ts';
import { durableQueueContract, type JobsPlace, mails } from './durable-queue.contract.ts';

const begin = 1_000_000;

const schema: Schema = {
  file: 'mails.sqlite',
  codePrefix: 'mails',
  name: 'the mails of a test',
  migrations: [
    (types) =>
      `CREATE TABLE mails (${jobColumns(types)}, box ${types.text} NOT NULL); ${jobIndexes('mails')}`,
  ],
  whenDamaged: 'Make another one.',
};

function placeIn(database: Database, now: () => number, set: (time: number) => Promise<void>): JobsPlace {
  const rows = new DatabaseJobs(database, mails);
  return {
    rows,
    now,
    set,
    async add(box) {
      await database.write(
        "INSERT INTO mails (box, state, due_at, changed_at) VALUES ($1, 'pending', core_clock_ms(), core_clock_ms())",
        [box],
      );
    },
    async row(seq) {
      return (await database.query<Record<string, unknown>>('SELECT * FROM mails WHERE seq = $1', [seq]))[0]!;
    },
    async change(sql) {
      await database.write(sql);
    },
    async end() {
      rows.close();
      await database.close();
    },
  };
}

durableQueueContract('a file', async () => {
  let now = begin;
  const database = openSqlite(join(temporaryFolder(), schema.file), schema, { now: () => now });
  return placeIn(
    database,
    () => now,
    async (time) => {
      now = time;
    },
  );
});

describeWith(['postgres'], 'jobs in PostgreSQL', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  durableQueueContract('a database', async () => {
    const database = openPostgres(await server.database(), 'core-test', { schema });
    let now = begin;
    await database.query(`CREATE TABLE test_clock AS SELECT ${begin}::bigint AS ms`);
    await database.query(
      "CREATE OR REPLACE FUNCTION core_clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM test_clock'",
    );
    return placeIn(
      database,
      () => now,
      async (time) => {
        now = time;
        await database.query('UPDATE test_clock SET ms = $1', [now]);
      },
    );
  });
});
