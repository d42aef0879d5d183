import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { sampleOutcome, samplePlan } from '../../../../test/fixtures/context/sample-execution.ts';
import { prepareRecording } from '../../memory/prepare-recording.ts';
import { GraphRecord } from '../../record/graph-record.ts';
import { writeCommands } from '../../store/commands.ts';
import { migrate } from '../../store/schema.ts';
import { graphQueries } from '../graph-queries.ts';
import { shownProperty, shows } from './shown.ts';

const { text, number, float } = shows;
const at = '2026-01-01T00:00:00.000Z';

describe('what a property of the graph is known to be', () => {
  it('is true of everything that Core writes', () => {
    const db = new DatabaseSync(':memory:');
    migrate(db);
    const record = new GraphRecord(db);
    const { recordPlan, recordOutcome, recordMemory, beginIngestion, storeFiles } = writeCommands;
    recordPlan(record, samplePlan(1));
    recordOutcome(record, sampleOutcome(1));
    const memory = { confidence: 0.5, source: '7', subject: '8', predicate: '9' };
    recordMemory(record, prepareRecording({ layer: 'semantic', content: '404', ...memory }));
    const turn = { session: '1', seq: 1, speaker: '2', at };
    recordMemory(record, prepareRecording({ layer: 'episodic', content: '405', ...turn }));
    recordMemory(record, prepareRecording({ layer: 'procedural', content: '406', steps: ['1'] }));
    const repository = 'local/demo/hello';
    beginIngestion(record, { repository, path: '/hello', at });
    const properties = { language: 'javascript', lines: 3, bytes: 30 };
    const linked = { language: 'javascript', module: null, uses: '[[],[],[]]' } as const;
    const facts = { source: '1', facts: linked, names: [] };
    const file = { path: 'a.js', kind: 'file', properties, text: '1', ...facts } as const;
    const part = {
      id: 'symbol:a',
      kind: 'symbol',
      title: '1',
      start_line: 1,
      end_line: 2,
      properties: { sort: 'function', language: 'javascript', signature: '1' },
      text: '1',
      parent: `file:${repository}:a.js`,
      relation: 'defines',
    } as const;
    storeFiles(record, { repository, at, files: [{ ...file, parts: [part] }] });
    const { changes } = graphQueries.graphChanges(db, { after: null, limit: 1_000 });
    const held = [...changes.nodes, ...changes.edges].flatMap(({ properties }) => Object.entries(properties));
    expect(new Set(held.map(([name]) => name)).size).to.be.above(40);
    for (const [name, value] of held) {
      const shown = shownProperty(name) & (text | number);
      const kind = typeof value === 'string' ? text : typeof value === 'number' ? number : 0;
      expect(shown, name).to.equal(kind);
      if (typeof value === 'number' && !Number.isInteger(value))
        expect(shownProperty(name) & float, name).to.equal(float);
    }
  });
});
