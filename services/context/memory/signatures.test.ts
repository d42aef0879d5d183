import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { RecordReply, RecordRequest } from '#kit/contracts/context/memory.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../record/connection.ts';
import { GraphRecord } from '../record/graph-record.ts';
import { GroupCommit } from '../record/group-commit.ts';
import { writeCommands } from '../store/commands.ts';
import { migrate } from '../store/schema.ts';
import { prepareRecording } from './prepare-recording.ts';
import { bandMates, rememberSignature } from './signatures.ts';

const content = 'The release waits for the second reviewer, who is on leave until the end of the week.';
const near = content.replace(', who', ' who');

describe('Signatures of memories', () => {
  let db: DatabaseSync;
  let group: GroupCommit;

  beforeEach(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    migrate(db);
    group = new GroupCommit(db, writeCommands, Number.POSITIVE_INFINITY);
  });

  afterEach(() => db.close());

  function ask(name: string, input: unknown): unknown {
    const [answer] = group.commitSome([{ id: 1, name, input: { input, durability: 'full' } }]);
    if ('error' in answer!) throw new Error(JSON.stringify(answer.error));
    return answer!.value;
  }

  const record = (request: Partial<RecordRequest>) =>
    ask('recordMemory', prepareRecording({ layer: 'semantic', content, ...request })) as RecordReply;
  const signed = () => (db.prepare('SELECT count(*) AS n FROM memory_signatures').get() as { n: number }).n;

  it('lead to what was told before this process began', () => {
    const { id } = record({});
    group = new GroupCommit(openAgain(), writeCommands);
    expect(record({ content: near }).duplicate_of).to.equal(id);
  });

  it('go with their memories, whose numbers others get', () => {
    const { id } = record({});
    ask('forgetMemories', { asked_for: 'id', name: id, by: 'a test', reason: null });
    expect(signed()).to.equal(0);
    expect(record({ content: 'Another text has the number of the one that is gone now.' }).created).to.equal(
      true,
    );
    const again = record({ content: near });
    expect(again).to.include({ created: true, duplicate_of: null });
    expect(record({}).duplicate_of).to.equal(again.id);
  });

  it('of what was taken back find nothing, and what comes instead is found', () => {
    const broken = { subject: 'x'.repeat(10), predicate: 'y', about: ['service:none'] };
    const call = (id: number, request: Partial<RecordRequest>) => ({
      id,
      name: 'recordMemory',
      input: { input: prepareRecording({ layer: 'semantic', content, ...request }), durability: 'full' },
    });
    const calls = [call(1, {}), call(2, broken), call(3, { content: near })];
    const answers = group.commitSome(calls);
    answers.push(...group.commitSome(calls.slice(answers.length)));
    expect(answers[1]).to.have.nested.property('error');
    const [first, , third] = answers as { value: RecordReply }[];
    expect(first!.value.created).to.equal(true);
    expect(third!.value.duplicate_of).to.equal(first!.value.id);
    expect(signed()).to.equal(1);
  });

  it('join endings and punctuation, and neither numbers, negations nor facts', () => {
    const text =
      'The release train leaves on Thursdays, once the second reviewer has signed the list of changes';
    const changed = `${text.replace('Thursdays,', 'Thursday')}.`;
    const { id } = record({ content: text });
    expect(record({ content: changed }).duplicate_of).to.equal(id);
    for (const other of [text.replace('second', '2nd'), text.replace('has signed', 'has not signed')])
      expect(record({ content: other })).to.include({ created: true, duplicate_of: null });
    const short = record({ content: 'It leaves on Thursdays' });
    expect(record({ content: 'It leaves on Thursday.' }).duplicate_of).to.equal(short.id);
    expect(record({ content: 'It leaves on Tuesdays' }).created).to.equal(true);
    const fact = { subject: 'the release train', predicate: 'leaves' };
    const first = record({ content: text, ...fact });
    expect(first.created).to.equal(true);
    expect(record({ content: `${text.toUpperCase()}!`, ...fact }).duplicate_of).to.equal(first.id);
    expect(record({ content: changed, ...fact }).created).to.equal(true);
  });

  it('name the newest memories of a band, at most so many', () => {
    db.exec('PRAGMA foreign_keys = OFF');
    const direct = new GraphRecord(db);
    for (let memory = 1; memory <= 50; memory++)
      rememberSignature(direct, memory, [memory % 5, 2 ** 50 + (memory % 7)]);
    expect(bandMates(direct, [1], 3)).to.deep.equal([46, 41, 36]);
    expect(bandMates(direct, [1, 2], 3)).to.deep.equal([47, 46, 42]);
    expect(bandMates(direct, [2 ** 50 + 6, 77], 2)).to.deep.equal([48, 41]);
    expect(bandMates(direct, [77], 3)).to.deep.equal([]);
  });

  it('are made again where they are missing, but not for facts and turns', () => {
    const { id } = record({ about: [] });
    record({ content: 'is in Berlin', subject: 'the office', predicate: 'place' });
    record({ layer: 'episodic', content: 'Good morning to everybody here.', session: 'one' });
    expect(signed()).to.equal(1);
    db.exec('DELETE FROM memory_signatures');
    ask('rebuildMemoryIndex', null);
    expect(signed()).to.equal(1);
    expect(record({ content: near }).duplicate_of).to.equal(id);
  });

  function openAgain(): DatabaseSync {
    const path = db.location()!;
    db.close();
    db = openForWriting(path);
    return db;
  }
});
