import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../record/connection.ts';
import { migrate } from './schema.ts';

const at = '2026-01-01T00:00:00.000Z';
const content = 'The release waits for the second reviewer, who is on leave until the end of the week.';

describe('The tables of the record', () => {
  let db: DatabaseSync;

  beforeEach(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
  });

  afterEach(() => db.close());

  const version = () => (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
  const tables = () =>
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all()
      .map(({ name }) => name as string);

  /** As the first version wrote a memory that nothing is about. */
  function putOldMemory(memory: number, text: string): void {
    const id = `memory:old-${memory}`;
    db.prepare(
      "INSERT INTO nodes (node, id, label, kind, title, valid_from, changed) VALUES (?, ?, 'Memory', 'semantic', ?, ?, ?)",
    ).run(memory, id, text, at, memory);
    db.prepare(
      `INSERT INTO memories (memory, id, layer, kind, words, recorded_at, valid_from, valid_to, context, content)
       VALUES (?, ?, 'semantic', 'semantic', 9, ?, ?, '9999-12-31T23:59:59.999Z', '', ?)`,
    ).run(memory, id, at, at, text);
    db.prepare("INSERT INTO memory_index (rowid, content, context) VALUES (?, ?, '')").run(memory, text);
  }

  it('are the same, made at once or from version to version', () => {
    const other = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    const schemaOf = (of: DatabaseSync) =>
      of.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();
    try {
      for (const wanted of [1, 2]) migrate(db, wanted);
      migrate(db);
      migrate(other);
      expect(schemaOf(db)).to.deep.equal(schemaOf(other));
      expect(other.prepare('PRAGMA user_version').get()).to.deep.equal(
        db.prepare('PRAGMA user_version').get(),
      );
    } finally {
      other.close();
    }
  });

  it('of version 1 get a place for vectors and keep their memories', () => {
    migrate(db, 1);
    expect(tables()).to.include('memory_bands').and.not.to.include('memory_vectors');
    putOldMemory(1, content);
    migrate(db, 2);
    expect(version()).to.equal(2);
    db.prepare("INSERT INTO memory_vectors VALUES (1, 'embedder', x'0000803f')").run();
    migrate(db);
    expect(db.prepare('SELECT memory, content FROM memories').all()).to.deep.equal([{ memory: 1, content }]);
    expect(db.prepare('SELECT memory, model FROM memory_vectors').all()).to.deep.equal([
      { memory: 1, model: 'embedder' },
    ]);
    db.prepare('DELETE FROM nodes WHERE node = 1').run();
    expect(db.prepare('SELECT count(*) AS left FROM memory_vectors').get()).to.deep.equal({ left: 0 });
  });

  it('of version 3 keep the source of each memory, and a key stands for one request alone', () => {
    migrate(db, 3);
    putOldMemory(1, content);
    const addSighting = (key: string | null, more = '') =>
      db
        .prepare(
          `INSERT INTO memory_sightings (memory, source, key, digest, seen_at, first${more && `, ${more}`})
           VALUES (1, 'mira', ?, 'sha256:1', ?, 1${more && ', 1'})`,
        )
        .run(key, at);
    for (const key of ['one', null, null]) addSighting(key, 'exact');
    const sightings = () => db.prepare('SELECT * FROM memory_sightings ORDER BY sighting').all();
    const before = sightings().map(({ exact, ...rest }) => rest);
    migrate(db);
    expect(sightings()).to.deep.equal(before).and.to.have.lengthOf(3);
    addSighting(null);
    expect(() => addSighting('one')).to.throw('UNIQUE');
    db.prepare('DELETE FROM nodes WHERE node = 1').run();
    expect(sightings()).to.deep.equal([]);
  });

  it('are left alone when they are up to date, and refused when they are newer', () => {
    migrate(db);
    const newest = version();
    migrate(db);
    expect(version()).to.equal(newest);
    db.exec(`PRAGMA user_version = ${newest + 1}`);
    expect(() => migrate(db)).to.throw(`version ${newest + 1}: this Core knows versions up to ${newest}`);
  });
});
