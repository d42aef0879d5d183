import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../../record/connection.ts';
import { GraphRecord } from '../../record/graph-record.ts';
import { migrate } from '../../store/schema.ts';
import { prepareRecording } from '../prepare-recording.ts';
import { recordMemory, recordMemoryOutcome } from '../record-memory.ts';
import { lookUpMemories } from './lookup.ts';

describe('A lookup of memories', () => {
  let db: DatabaseSync;
  let graph: GraphRecord;

  beforeEach(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    migrate(db);
    graph = new GraphRecord(db);
    db.exec('BEGIN');
  });
  afterEach(() => db.close());

  const record = (request: RecordRequest) => recordMemory(graph, prepareRecording(request)).id;
  const outcome = (id: string, worked: boolean, times: number) => {
    for (let n = 0; n < times; n++) recordMemoryOutcome(graph, { id, worked, run: `run_${n}` });
  };
  const find = (query: string, limit: number) =>
    lookUpMemories(db, { query, limit, layer: null, session: null, about: null, as_of: null }).results;

  it('finds what people recorded though more lines of runs match better than the index is asked for', () => {
    const decision = record({
      layer: 'semantic',
      content: `The rollout waits for the second reviewer. ${'Nobody else has to agree to that. '.repeat(40)}`,
    });
    for (let n = 0; n < 210; n++)
      record({ layer: 'episodic', kind: 'run_event', session: 'run_1', content: `Rollout ${n}` });
    expect(find('rollout', 10).map(({ id }) => id)).to.contain(decision);
  });

  it('prefers playbooks that worked and lowers those that failed, by a tenth at most', () => {
    const [good, unused, bad] = [1, 2, 3].map((queue) =>
      record({ layer: 'procedural', content: `Restart the worker of queue ${queue} with care.` }),
    ) as [string, string, string];
    outcome(good, true, 3);
    outcome(bad, false, 3);
    const found = find('care when a worker of a queue hangs', 10);
    expect(found.map(({ id }) => id)).to.deep.equal([good, unused, bad]);
    expect(found.map(({ why }) => why.success)).to.deep.equal([0.8, 0.5, 0.2]);
    expect(found.map(({ score }) => score)).to.deep.equal([1, 0.9434, 0.8868]);
  });
});
