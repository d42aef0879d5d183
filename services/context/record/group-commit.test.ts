import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { NotFound } from '#kit/errors.ts';
import { migrate } from '#kit/storage/database.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import type { Commands } from './calls.ts';
import { openForWriting, recordThing } from './connection.ts';
import type { GraphRecord } from './graph-record.ts';
import { recordTables } from './graph-record.ts';
import { GroupCommit } from './group-commit.ts';
import type { AnswerMessage, CallMessage } from './thread.ts';

const node = (id: string) => ({
  id,
  label: 'CoreEntity' as const,
  kind: 'service',
  title: id,
  valid_from: '2026-01-01T00:00:00.000Z',
});

const commands = {
  put: (record: GraphRecord, id: string) => record.putNode(node(id)),
  putThenFail(record: GraphRecord, id: string) {
    record.putNode(node(id));
    throw new NotFound('entity_not_found', `there is no ${id}`, { hint: 'Look again.' });
  },
  slowPut(record: GraphRecord, id: string) {
    const end = performance.now() + 30;
    while (performance.now() < end);
    record.putNode(node(id));
  },
  endTransaction(record: GraphRecord) {
    record.db.exec('ROLLBACK');
    throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
  },
} as unknown as Commands;

describe('A group of commands', () => {
  let path: string;
  let db: DatabaseSync;
  let group: GroupCommit;

  beforeEach(() => {
    path = join(temporaryFolder(), 'record.sqlite');
    db = openForWriting(path);
    migrate(db, { ...recordThing, migrations: [recordTables] });
    group = new GroupCommit(db, commands, Number.POSITIVE_INFINITY);
  });
  afterEach(() => db.close());

  const call = (id: number, name: string, input: unknown) => ({
    id,
    name,
    input: { input, durability: 'normal' },
  });
  function stored(): { id: string; changed: number }[] {
    const other = new DatabaseSync(path, { readOnly: true });
    const rows = other.prepare('SELECT id, changed FROM nodes ORDER BY changed').all();
    other.close();
    return rows.map((row) => ({ ...row })) as { id: string; changed: number }[];
  }
  const failed = (answer: AnswerMessage | undefined) => ('error' in answer! ? answer.error : null);

  /** As the writer's thread does: what is still to do comes again. */
  function commitAll(calls: readonly CallMessage[]): AnswerMessage[] {
    const answers: AnswerMessage[] = [];
    while (answers.length < calls.length) answers.push(...group.commitSome(calls.slice(answers.length)));
    return answers;
  }

  it('is committed as one; a command that fails takes back itself alone, and its place in the sequence', () => {
    const answers = commitAll([
      call(1, 'put', 'a'),
      call(2, 'putThenFail', 'b'),
      call(3, 'put', 'c'),
      call(4, 'unknown', null),
    ]);
    expect(answers.map(({ id }) => id)).to.deep.equal([1, 2, 3, 4]);
    expect(failed(answers[1])).to.deep.include({ kind: 'NotFound', code: 'entity_not_found' });
    expect(failed(answers[3])!.message).to.contain('no command unknown');
    expect(stored()).to.deep.equal([
      { id: 'a', changed: 1 },
      { id: 'c', changed: 2 },
    ]);
  });

  it('ends after a while, so that a short command need not wait for many long ones', () => {
    const calls = [1, 2, 3, 4].map((id) => call(id, 'slowPut', `n${id}`));
    const answers = new GroupCommit(db, commands).commitSome(calls);
    expect(answers.map(({ id }) => id)).to.deep.equal([1]);
    expect(stored().map(({ id }) => id)).to.deep.equal(['n1']);
  });

  it('is told as a whole that the disk was full, and leaves the record as it was', () => {
    const answers = group.commitSome([
      call(1, 'put', 'a'),
      call(2, 'endTransaction', null),
      call(3, 'put', 'b'),
    ]);
    expect(answers.map((answer) => failed(answer)?.code)).to.deep.equal(['disk_full', 'disk_full']);
    expect(stored()).to.deep.equal([]);
    group.commitSome([call(3, 'put', 'b')]);
    expect(stored()).to.deep.equal([{ id: 'b', changed: 1 }]);
  });

  it('waits for the disk where one of its commands asks for it', () => {
    const synchronous = () => (db.prepare('PRAGMA synchronous').get() as { synchronous: number }).synchronous;
    group.commitSome([call(1, 'put', 'a')]);
    expect(synchronous()).to.equal(1);
    const full = { ...call(3, 'put', 'c'), input: { input: 'c', durability: 'full' } };
    group.commitSome([call(2, 'put', 'b'), full]);
    expect(synchronous()).to.equal(2);
  });
});
