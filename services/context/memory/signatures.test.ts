import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { RecordReply, RecordRequest } from '#kit/contracts/context/memory.ts';
import { transaction } from '#kit/storage/database.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../record/connection.ts';
import { GraphRecord } from '../record/graph-record.ts';
import { writeCommands } from '../store/commands.ts';
import { migrate } from '../store/schema.ts';
import { prepareRecording } from './prepare-recording.ts';
import { rememberFingerprint, rowsSharing } from './signatures.ts';

const content = 'The release waits for the second reviewer, who is on leave until the end of the week.';
const same = content.replace('The release', 'the  release').slice(0, -1);

describe('Signatures of memories', () => {
  let db: DatabaseSync;
  let graph: GraphRecord;

  beforeEach(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    migrate(db);
    graph = new GraphRecord(db);
  });

  afterEach(() => db.close());

  const record = (request: Partial<RecordRequest>): RecordReply =>
    transaction(db, () =>
      writeCommands.recordMemory(graph, prepareRecording({ layer: 'semantic', content, ...request })),
    );
  const signed = () => (db.prepare('SELECT count(*) AS n FROM memory_signatures').get() as { n: number }).n;

  it('lead to what was recorded before this process started', () => {
    const { id } = record({});
    graph = new GraphRecord(openAgain());
    expect(record({ content: same }).duplicate_of).to.equal(id);
  });

  it('go with their memories, whose numbers others get', () => {
    const { id } = record({});
    const forgetting = { asked_for: 'id', name: id, by: 'a test', reason: null } as const;
    transaction(db, () => writeCommands.forgetMemories(graph, forgetting));
    expect(signed()).to.equal(0);
    expect(record({ content: 'Another text has the number of the one that is gone now.' }).created).to.equal(
      true,
    );
    const again = record({ content: same });
    expect(again).to.include({ created: true, duplicate_of: null });
    expect(record({}).duplicate_of).to.equal(again.id);
  });

  it('that are gone hide no older one, also before the record is opened again', () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
    const { id } = record({ layer: 'episodic', at: at(0) });
    for (let n = 1; n <= 201; n++) record({ layer: 'episodic', at: at(n), source: 'clock' });
    const forgetting = { asked_for: 'source', name: 'clock', by: 'a test', reason: null } as const;
    transaction(db, () => writeCommands.forgetMemories(graph, forgetting));
    expect(record({ layer: 'episodic', at: at(0) }).duplicate_of).to.equal(id);
  });

  it('of what was taken back find nothing, and what comes instead is found', () => {
    const failing = () =>
      transaction(db, () => {
        const { recordMemory } = writeCommands;
        recordMemory(graph, prepareRecording({ layer: 'semantic', content }));
        throw new Error('taken back');
      });
    expect(failing).to.throw('taken back');
    const first = record({ content: same });
    expect(first).to.include({ created: true, duplicate_of: null });
    expect(record({}).duplicate_of).to.equal(first.id);
    expect(signed()).to.equal(1);
  });

  it('name the newest memories that share a number, at most so many', () => {
    db.exec('PRAGMA foreign_keys = OFF');
    const direct = new GraphRecord(db);
    for (let memory = 1; memory <= 50; memory++)
      rememberFingerprint(direct, memory, { text: memory % 5, bands: [2 ** 50 + (memory % 7)] });
    expect(rowsSharing(direct, [1], 3)).to.deep.equal([46, 41, 36]);
    expect(rowsSharing(direct, [1, 2], 3)).to.deep.equal([47, 46, 42]);
    expect(rowsSharing(direct, [2 ** 50 + 6, 77], 2)).to.deep.equal([48, 41]);
    expect(rowsSharing(direct, [77], 3)).to.deep.equal([]);
  });

  it('are made again where they are missing, but not for facts and turns', () => {
    const { id } = record({ about: [] });
    record({ content: 'is in Berlin', subject: 'the office', predicate: 'place' });
    record({ layer: 'episodic', content: 'Good morning to everybody here.', session: 'one' });
    expect(signed()).to.equal(1);
    db.exec('DELETE FROM memory_signatures');
    transaction(db, () => writeCommands.rebuildMemoryIndex(graph, null));
    expect(signed()).to.equal(1);
    expect(record({ content: same }).duplicate_of).to.equal(id);
  });

  function openAgain(): DatabaseSync {
    const path = db.location()!;
    db.close();
    db = openForWriting(path);
    return db;
  }
});
