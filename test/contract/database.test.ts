import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { type Database, rowLock, valuesTable } from '#kit/database/database.ts';
import { isUniqueViolation } from '#kit/database/errors.ts';
import { createFencedLeases, type FencedLeases, leaseTables } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { Schema } from '#kit/database/schema.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import { codeOf } from '#kit/errors.ts';
import { startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until as untilTrue } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

const schema: Schema = {
  file: 'notes.sqlite',
  codePrefix: 'notes',
  name: 'the notes of a test',
  migrations: [
    leaseTables,
    ({ identity, text, integer, bytes }) =>
      `CREATE TABLE notes (seq ${identity}, name ${text} NOT NULL UNIQUE, size ${integer} NOT NULL, content ${bytes});`,
  ],
  whenDamaged: 'Make other ones.',
};

interface Place {
  /** Another connection to the same tables, as of another process. */
  open(): Database;
  end(): Promise<void>;
}

const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error) => error,
  );
const add = (name: string, size = 1) =>
  ['INSERT INTO notes (name, size) VALUES ($1, $2) RETURNING seq', [name, size]] as const;

function contract(engine: string, makePlace: () => Promise<Place>): void {
  describe(`a database, ${engine}`, () => {
    let place: Place;
    let opened: Database[];
    let database: Database;
    const open = () => {
      const one = place.open();
      opened.push(one);
      return one;
    };
    beforeEach(async () => {
      place = await makePlace();
      opened = [];
      database = open();
    });
    afterEach(async () => {
      for (const one of opened) await one.close();
      await place.end();
    });
    const names = async (of = database) =>
      (await of.query<{ name: string }>('SELECT name FROM notes ORDER BY name')).map(({ name }) => name);

    it('returns numbers, text and bytes as they were given', async () => {
      const values = ['ünd \u0000 \u{1f600}', 2 ** 52, Uint8Array.of(0, 255)];
      const [row] = await database.write<{ name: string; size: number; content: Uint8Array }>(
        'INSERT INTO notes (name, size, content) VALUES ($1, $2, $3) RETURNING name, size, content',
        values,
      );
      expect([row!.name, row!.size, [...row!.content]]).to.deep.equal([
        'ünd \u{fffd} \u{1f600}',
        2 ** 52,
        [0, 255],
      ]);
    });

    it('commits all of a transaction or nothing, and takes back one among others alone', async () => {
      const works = ['a', 'b', 'c'].map((name) =>
        failure(
          database.transaction(async (sql) => {
            await sql.query(...add(name));
            if (name === 'b') throw new TypeError('given up');
            await sql.query(...add(`${name}2`));
          }),
        ),
      );
      expect((await Promise.all(works)).map((error) => error?.message)).to.deep.equal([
        undefined,
        'given up',
        undefined,
      ]);
      expect(await names()).to.deep.equal(['a', 'a2', 'c', 'c2']);
    });

    it('shows nothing of a transaction to others before it is committed', async () => {
      const other = open();
      const inside = Promise.withResolvers<void>();
      const seen = Promise.withResolvers<string[]>();
      const work = database.transaction(async (sql) => {
        await sql.query(...add('a'));
        inside.resolve();
        await seen.promise;
      });
      await inside.promise;
      seen.resolve([...(await names(other)), ...(await names())]);
      await work;
      expect([await seen.promise, await names(other)]).to.deep.equal([[], ['a']]);
    });

    it('refuses a value that is there already, as such', async () => {
      await database.write(...add('a'));
      expect(isUniqueViolation(await failure(database.write(...add('a'))))).to.equal(true);
      expect(isUniqueViolation(await failure(database.write('SELECT * FROM nothing')))).to.equal(false);
    });

    it('gives numbers that rise, also behind what was deleted', async () => {
      const first = await database.write<{ seq: number }>(...add('a'));
      await database.write('DELETE FROM notes');
      const second = await database.write<{ seq: number }>(...add('b'));
      expect(second[0]!.seq).to.be.greaterThan(first[0]!.seq);
    });

    it('loses no count between many writers', async () => {
      await database.write(...add('a', 0));
      const others = [database, open(), open()];
      await Promise.all(
        Array.from({ length: 60 }, (_, nth) =>
          others[nth % 3]!.transaction(async (sql) => {
            const [row] = await sql.query<{ size: number }>(
              `SELECT size FROM notes WHERE name = 'a' ${rowLock(sql, 'FOR UPDATE')}`,
            );
            await sql.query("UPDATE notes SET size = $1 WHERE name = 'a'", [row!.size + 1]);
          }),
        ),
      );
      expect((await database.query<{ size: number }>('SELECT size FROM notes'))[0]!.size).to.equal(60);
    });

    it('takes rows of values, and the greatest, the least and the time', async () => {
      const given = [
        { name: 'b', size: 3 },
        { name: 'a', size: 5 },
      ];
      const { text, values } = valuesTable('given', { name: 'text', size: 'bigint' }, given);
      const rows = await database.query<{ name: string; most: number; fewest: number; ms: number }>(
        `WITH ${text} SELECT name, greatest(size, 4, NULL) AS most, least(size, 4) AS fewest, core_clock_ms() AS ms
         FROM given ORDER BY name`,
        values,
      );
      expect(rows.map(({ name, most, fewest }) => [name, most, fewest])).to.deep.equal([
        ['a', 5, 4],
        ['b', 4, 3],
      ]);
      expect(Math.abs(rows[0]!.ms - Date.now())).to.be.lessThan(60_000);
    });

    describe('with leases', () => {
      const leases: FencedLeases[] = [];
      const leasesOf = (of: Database, durationMs = 30_000) => {
        const made = createFencedLeases(of, { durationMs });
        leases.push(made);
        return made;
      };
      afterEach(async () => {
        for (const one of leases.splice(0)) await one.close();
      });

      it('gives a right to one holder at a time, with numbers that rise', async () => {
        const [one, other] = [leasesOf(database), leasesOf(open())];
        const first = await one.acquire('a');
        const refused = await failure(other.acquire('a'));
        expect([codeOf(refused), refused.message]).to.deep.equal([
          'lease_held',
          `a is held by process ${process.pid} on ${hostname()} since ${refused.facts.acquired_at}; free at ${
            /free at (\S+)/.exec(refused.message)?.[1]
          } if that host does not renew it`,
        ]);
        await first.release();
        const second = await other.acquire('a');
        expect(second.fencing).to.be.greaterThan(first.fencing);
      });

      it('takes it from a process that has ended, and from one that did not renew it', async () => {
        const one = leasesOf(database);
        const [first] = [await one.acquire('a'), await one.acquire('b')];
        await database.write("UPDATE leases SET pid = 4194303, process_started = '1' WHERE name = 'a'");
        await database.write("UPDATE leases SET expires_at = core_clock_ms() - 1000 WHERE name = 'b'");
        const other = leasesOf(open());
        for (const name of ['a', 'b']) await other.acquire(name);
        expect(codeOf(await failure(first!.permit()))).to.equal('lease_lost');
        expect(codeOf(await failure(database.transaction((sql) => one.fence(sql, 'b'))))).to.equal(
          'lease_lost',
        );
      });

      it('renews it while its holder lives', async () => {
        const lease = await leasesOf(database, 90).acquire('a');
        const until = async () =>
          (await database.query<{ expires_at: number }>('SELECT expires_at FROM leases'))[0]!.expires_at;
        const before = await until();
        await untilTrue('a renewal', async () => (await until()) > before);
        expect(lease.lost.aborted).to.equal(false);
        (await lease.permit()).require();
      });
    });

    it('says to another process that something changed', async () => {
      const other = open();
      await other.query('SELECT 1 AS one');
      let looks = 0;
      const end = other.signals.watch('notes', () => {
        looks += 1;
      });
      await untilTrue('the first look', () => looks > 0 || other.engine === 'sqlite');
      const before = looks;
      await database.write(...add('a'));
      database.signals.notify('notes');
      await untilTrue('a look at the change', () => looks > before);
      end();
    });
  });
}

contract('in a file', async () => {
  const path = join(temporaryFolder(), schema.file);
  return { open: () => openSqlite(path, schema), end: async () => {} };
});

describeWith(['postgres'], 'in PostgreSQL', () => {
  contract('in PostgreSQL', async () => {
    const server = await startPostgres();
    const settings = await server.database();
    return { open: () => openPostgres(settings, 'core-test', { schema }), end: () => server.stop() };
  });

  it('works beside a newer Core, but not with tables from which one took something away', async () => {
    const server = await startPostgres();
    const settings = await server.database();
    const opened: Database[] = [];
    const count = async (of: Schema) => {
      const database = openPostgres(settings, 'core-test', { schema: of });
      opened.push(database);
      return database.query('SELECT count(*) AS n FROM notes');
    };
    const more = [...schema.migrations, () => 'CREATE TABLE more (x bigint);'];
    await count(schema);
    await count({ ...schema, migrations: more });
    expect(await count(schema)).to.deep.equal([{ n: 0 }]);
    await count({ ...schema, migrations: [...more, () => 'DROP TABLE more;'], lowestVersion: 4 });
    expect(codeOf(await failure(count(schema)))).to.equal('database_newer');
    for (const one of opened) await one.close();
    await server.stop();
  });
});

describe('a database in a file', () => {
  let folder: string;
  let path: string;
  let opened: Database[];
  const open = (of: Schema = schema) => {
    const database = openSqlite(path, of);
    opened.push(database);
    return database;
  };
  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, schema.file);
    opened = [];
  });
  afterEach(async () => {
    for (const one of opened) await one.close();
  });
  const codeFrom = async (database: Database) => codeOf(await failure(database.query('SELECT * FROM notes')));

  it('is not created by a read, which finds no rows', async () => {
    const database = open();
    expect(await database.query('SELECT * FROM notes')).to.deep.equal([]);
    expect(existsSync(path)).to.equal(false);
    await database.write(...add('a'));
    expect(existsSync(path)).to.equal(true);
    expect(await database.query('SELECT * FROM notes')).to.have.length(1);
    // Each of its users closes it.
    await Promise.all([database.close(), database.close()]);
  });

  it('reads nothing through a statement that would write', async () => {
    const database = open();
    expect((await failure(database.query(...add('a')))).message).to.contain('readonly');
    await database.write(...add('a'));
    expect((await failure(database.query(...add('b')))).message).to.contain('readonly');
  });

  it('refuses the file of another program, of a newer Core, and one that is damaged', async () => {
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (x)');
    foreign.close();
    expect(await codeFrom(open())).to.equal('notes_foreign');
    path = join(folder, 'newer.sqlite');
    await open({ ...schema, migrations: [...schema.migrations, () => 'CREATE TABLE more (x);'] }).write(
      ...add('a'),
    );
    expect(await codeFrom(open())).to.equal('notes_newer');
    path = join(folder, 'damaged.sqlite');
    writeFileSync(path, 'no database at all, but of some length'.repeat(200));
    expect(await codeFrom(open())).to.equal('notes_damaged');
  });

  it('names its file if a number in it is larger than any that Core writes', async () => {
    const database = open();
    await database.write(...add('a'));
    const client = new DatabaseSync(path);
    client.exec('UPDATE notes SET size = 9223372036854775807');
    client.close();
    const error = await failure(database.query('SELECT size FROM notes'));
    expect(codeOf(error)).to.equal('notes_damaged');
    expect(String(error)).to.contain(path);
  });

  it('reads and writes nothing once its file was replaced', async () => {
    const database = open();
    await database.write(...add('a'));
    renameSync(path, `${path}.away`);
    expect(codeOf(await failure(database.write(...add('b'))))).to.equal('notes_replaced');
    expect(codeOf(await failure(database.query('SELECT name FROM notes')))).to.equal('notes_replaced');
    renameSync(`${path}.away`, path);
    await database.write(...add('c'));
    expect(await database.query('SELECT name FROM notes')).to.deep.equal([{ name: 'a' }, { name: 'c' }]);
  });

  it('waits for a writer in another process, and keeps what was committed when that is killed', async () => {
    const database = open();
    await database.write(...add('a'));
    const script = join(folder, 'holder.mjs');
    writeFileSync(
      script,
      `import { DatabaseSync } from 'node:sqlite';
      const db = new DatabaseSync(process.argv[2]);
      db.exec("BEGIN IMMEDIATE; INSERT INTO notes (name, size) VALUES ('theirs', 1)");
      process.send('held');
      setInterval(() => {}, 1000);`,
    );
    const holder = fork(script, [path], { execArgv: ['--disable-warning=ExperimentalWarning'] });
    await once(holder, 'message');
    let written = false;
    const writing = database.write(...add('b')).then(() => {
      written = true;
    });
    await database.query('SELECT 1 AS one');
    expect(written).to.equal(false);
    holder.kill('SIGKILL');
    await writing;
    expect(await database.query('SELECT name FROM notes')).to.deep.equal([{ name: 'a' }, { name: 'b' }]);
  });
});
