import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { Conflict } from '#kit/errors.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { type DatabaseKind, migrate, openDisposableDatabase, transaction } from './database.ts';
import { isDiskFull } from './storage-error.ts';
import { WriteBatch } from './write-batch.ts';

const kind: DatabaseKind = {
  codePrefix: 'notes',
  name: 'the notes',
  migrations: ['CREATE TABLE notes (text TEXT UNIQUE) STRICT'],
  whenDamaged: 'Move it away.',
};

describe('a database', () => {
  let folder: string;
  let path: string;
  let open: DatabaseSync[];

  beforeEach(() => {
    folder = temporaryFolder();
    path = join(folder, 'notes.sqlite');
    open = [];
  });

  afterEach(() => {
    for (const db of open) db.close();
    rmSync(folder, { recursive: true });
  });

  function opened(): DatabaseSync {
    const db = openDisposableDatabase(path, (fresh) => migrate(fresh, kind));
    open.push(db);
    return db;
  }

  const texts = (db: DatabaseSync) =>
    db
      .prepare('SELECT text FROM notes ORDER BY text')
      .all()
      .map(({ text }) => text);

  it('begins again where it can be rebuilt', () => {
    writeFileSync(path, 'this is no database, and long enough to be taken for one'.repeat(40));
    const db = openDisposableDatabase(path, (fresh) => fresh.exec(kind.migrations[0]!));
    open.push(db);
    expect(texts(db)).to.deep.equal([]);
  });

  it('undoes a transaction that fails', () => {
    const db = opened();
    const work = () => {
      db.exec("INSERT INTO notes VALUES ('a')");
      throw new Error('no');
    };
    expect(() => transaction(db, work)).to.throw('no');
    expect(texts(db)).to.deep.equal([]);
  });

  it('commits what is written in one tick together, and rejects what its own work refuses alone', async () => {
    const db = opened();
    let commits = 0;
    let begun = 0;
    const begin = () => begun++;
    const batch = new WriteBatch(db, { begin, committed: () => commits++, explain: (error) => error });
    const insert = db.prepare('INSERT INTO notes VALUES (?)');
    const write = (text: string) => batch.write(() => insert.run(text).changes);
    const refused = batch.write(() => {
      throw new Conflict('taken', 'no');
    });
    const outcomes = await Promise.allSettled([write('a'), refused, write('b')]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect([begun, commits, ...texts(db)]).to.deep.equal([1, 1, 'a', 'b']);
  });

  it('rejects the whole batch and writes nothing of it when the database fails, and recovers', async () => {
    const db = opened();
    const batch = new WriteBatch(db, { explain: (error) => new Error('explained', { cause: error }) });
    const insert = db.prepare('INSERT INTO notes VALUES (?)');
    const twice = await Promise.allSettled(['a', 'a'].map((text) => batch.write(() => insert.run(text))));
    expect(twice.map((one) => one.status === 'rejected' && one.reason.message)).to.deep.equal([
      'explained',
      'explained',
    ]);
    expect(batch.problem).to.be.instanceOf(Error);
    await batch.write(() => insert.run('b'));
    expect([batch.problem, ...texts(db)]).to.deep.equal([null, 'b']);
  });

  it('takes the lack of room or quota for a full disk, and an error of a disk with room for none', () => {
    const sqlite = (errcode: number) => Object.assign(new Error('disk'), { errcode });
    const fullWith = (code: number, folder?: string) => isDiskFull(sqlite(code), folder);
    expect([13, 10 | (3 << 8), 10 | (19 << 8), 11].map((code) => fullWith(code, folder))).to.deep.equal([
      true,
      false,
      false,
      false,
    ]);
    expect(fullWith(10 | (19 << 8), '/proc'), 'a disk without room').to.equal(true);
    expect(fullWith(10 | (19 << 8)), 'a disk that nobody names').to.equal(false);
    expect(isDiskFull(Object.assign(new Error('disk'), { code: 'ENOSPC' }))).to.equal(true);
  });
});
