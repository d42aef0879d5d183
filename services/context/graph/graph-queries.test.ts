import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { GraphRecord } from '../record/graph-record.ts';
import { migrate } from '../store/schema.ts';
import type { Changes, Position } from './changes.ts';
import { graphQueries } from './graph-queries.ts';

const at = '2026-01-01T00:00:00.000Z';

describe('the change feed', () => {
  let db: DatabaseSync;
  let record: GraphRecord;

  beforeEach(() => {
    db = new DatabaseSync(':memory:');
    db.exec('PRAGMA foreign_keys = ON');
    migrate(db);
    record = new GraphRecord(db);
  });

  const node = (id: string, properties = {}) =>
    record.putNode({ id, label: 'CoreEntity', kind: 'file', title: id, properties, valid_from: at });
  const link = (from: number, to: number) =>
    record.putEdge({ from, to, type: 'CORE_RELATION', kind: 'imports', valid_from: at });
  const changes = (after: Position | null, limit = 100) => graphQueries.graphChanges(db, { after, limit });

  it('gives what is there, then what changed, then nothing', () => {
    link(node('a'), node('b'));
    const first = changes(null);
    expect(first.changes.nodes.map(({ properties }) => properties.id)).to.deep.equal(['a', 'b']);
    expect(first.changes.edges.map(({ from, to }) => [from, to])).to.deep.equal([['a', 'b']]);
    expect([first.restart, first.changes.complete]).to.deep.equal([false, true]);
    node('a', { size: 1 });
    const second = changes(first.changes.position);
    expect(second.changes.nodes.map(({ properties }) => properties.size)).to.deep.equal([1]);
    const third = changes(second.changes.position).changes;
    expect([third.nodes, third.edges, third.deletions, third.complete]).to.deep.equal([[], [], [], true]);
  });

  it('holds edges back until no node is left', () => {
    link(node('a'), node('b'));
    link(node('c'), record.nodeOf('a')!);
    const seen: string[] = [];
    let position: Position | null = null;
    for (let complete = false; !complete; ) {
      const next: Changes = changes(position, 2).changes;
      for (const { properties } of next.nodes) seen.push(String(properties.id));
      for (const { from, to } of next.edges) expect(seen).to.include.members([from, to]);
      ({ position, complete } = next);
    }
    expect(seen).to.deep.equal(['a', 'b', 'c']);
  });

  it('gives a deletion before what was made again under its id', () => {
    node('a');
    const { position } = changes(null).changes;
    record.deleteNode(record.nodeOf('a')!);
    node('a', { again: true });
    const next = changes(position).changes;
    expect(next.deletions).to.deep.equal([{ subject: 'node', id: 'a' }]);
    expect(next.nodes.map(({ properties }) => properties.again)).to.deep.equal([true]);
  });

  it('leaves out the deletion of an edge that went with its end', () => {
    const [a, b] = [node('a'), node('b')];
    link(a, b);
    const { position } = changes(null).changes;
    record.deleteEdge(1);
    record.deleteNode(b);
    expect(changes(position).changes.deletions).to.deep.equal([{ subject: 'node', id: 'b' }]);
  });

  it('starts again for a position of another record, or ahead of this one', () => {
    node('a');
    const { position } = changes(null).changes;
    for (const foreign of [
      { ...position, record: 'other' },
      { ...position, nodes: 99 },
    ]) {
      const { restart, changes: all } = changes(foreign);
      expect([restart, all.nodes.length]).to.deep.equal([true, 1]);
      expect(graphQueries.graphLag(db, { after: foreign })).to.deep.equal({ changes: 1 });
    }
  });

  it('gives scalars alone, columns before properties, and no name that begins with _', () => {
    node('a', { kind: 'other', flag: true, _id: 7, size: 1.5, none: null });
    const [only] = changes(null).changes.nodes;
    expect(only?.properties).to.deep.equal({
      id: 'a',
      kind: 'file',
      title: 'a',
      valid_from: at,
      flag: true,
      size: 1.5,
    });
  });

  it('has digests in which the order of writing does not matter', () => {
    node('a');
    node('b');
    const before = graphQueries.graphDigests(db, {});
    record.deleteNode(record.nodeOf('a')!);
    node('a');
    expect(graphQueries.graphDigests(db, {})).to.deep.equal(before);
    node('a', { size: 1 });
    expect(graphQueries.graphDigests(db, {})).not.to.deep.equal(before);
  });
});
