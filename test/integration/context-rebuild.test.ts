import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { Ingestion } from '../../services/context/ingest/ingestion.ts';
import { rebuildAll } from '../../services/context/rebuild.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { Readers, Writer } from '../../services/context/store/access.ts';
import { migrate } from '../../services/context/store/schema.ts';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const name = 'demo/hello';
const graph = { engine: 'grafeo', rebuild: async () => {} } as const;

describe('Making everything again', () => {
  let path: string;
  let writer: Writer;
  let readers: Readers;

  beforeEach(() => {
    path = join(temporaryFolder(), 'record.sqlite');
    const db = openForWriting(path);
    migrate(db);
    db.close();
    [writer, readers] = [new Writer(path), new Readers(path)];
  });

  afterEach(async () => {
    await readers.close();
    await writer.close();
  });

  const rebuild = () =>
    rebuildAll({
      writer,
      readers,
      graph,
      historyCommits: 100,
      progress: () => {},
      signal: AbortSignal.any([]),
    });
  const rows = (sql: string) => {
    const db = new DatabaseSync(path);
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  };
  const known = () => rows('SELECT commit_id, files FROM changes ORDER BY change');
  const found = () => rows("SELECT count(*) AS n FROM change_index WHERE change_index MATCH 'unmistak*'");
  const ingest = async (dir: string) => {
    const config = { repositories: {}, ingestion: { max_file_bytes: 1_000_000, history_commits: 100 } };
    const ingestion = new Ingestion({ writer, readers, config, configFile: 'context.json' });
    await ingestion.refresh({ repositories: [{ name, path: dir, commit: undefined }], full: false });
  };

  it('learns the history of every repository once more', async () => {
    const repository = makeRepository({ 'a.txt': 'one' });
    repository.commit({ 'a.txt': 'two' }, 'An unmistakable change');
    await ingest(repository.dir);
    const before = known();
    expect(before).to.have.length(2);
    const db = new DatabaseSync(path);
    db.exec('DELETE FROM change_index; DELETE FROM changes');
    db.close();
    expect(found()).to.deep.equal([{ n: 0 }]);
    expect(await rebuild()).to.deep.equal([
      'text index',
      'memory index',
      'history of changes',
      'graph in grafeo',
    ]);
    expect(known()).to.deep.equal(before);
    expect(found()).to.deep.equal([{ n: 1 }]);
  });

  it('keeps what was learned of a repository that is gone, and says so', async () => {
    const repository = makeRepository({ 'a.txt': 'one' });
    repository.commit({ 'a.txt': 'two' }, 'An unmistakable change');
    await ingest(repository.dir);
    rmSync(repository.dir, { recursive: true });
    const [, , history] = await rebuild();
    expect(history).to.match(/^history of changes; demo\/hello is as it was: there is no folder/);
    expect(found()).to.deep.equal([{ n: 1 }]);
  });
});
