import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openGraph } from '../../services/context/graph/open-graph.ts';
import { Memory } from '../../services/context/memory/memory.ts';
import { silent } from '../contract/cypher-scene.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

describe('Forgetting memories', () => {
  let place: MemoryPlace;

  beforeEach(() => {
    place = openMemory();
  });

  afterEach(() => place.close());

  /** Every file of the record, as it lies on the disk. */
  function bytes(): Buffer {
    const folder = join(place.record.path, '..');
    return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  }

  function tables(): string {
    const db = new DatabaseSync(place.record.path, { readOnly: true });
    const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
      name: string;
    }[];
    const all = names.map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
    db.close();
    return JSON.stringify(all, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
  }

  it('leaves nothing of it: no row, no text, no byte in any file', async () => {
    for (let n = 0; n < 300; n++)
      await place.remember({ layer: 'semantic', content: `Ordinary remark number ${n} about the weather` });
    // The index shortens words by what they share with the one before.
    const traces = /ebulon|entinel|gadougou|arrelled/i;
    const remembered = await place.remember({
      layer: 'semantic',
      content: 'Zebulon quarrelled with Quentinella in Ouagadougou',
      source: 'zebulonsource',
      subject: 'Zebulonsubject',
      predicate: 'zebulonpredicate',
      key: 'zebulonkey',
    });
    for (let n = 0; n < 300; n++)
      await place.remember({ layer: 'semantic', content: `Further remark number ${n} about the garden` });
    expect(bytes().toString('latin1'))
      .to.match(/Quentinella/)
      .and.to.match(/[^u]entinella/);
    const reply = await place.memory.forget({ id: remembered.id, reason: 'asked to' }, 'mira');
    expect(reply).to.deep.equal({ forgotten: 1, ids: [remembered.id], kept: 0, wiped: true });
    expect(tables()).not.to.match(traces);
    expect(bytes().toString('latin1')).not.to.match(traces);
    expect(await place.texts('Quentinella')).to.deep.equal([]);
    expect(await place.texts('weather', { limit: 100 })).to.have.length(100);
  });

  it('notes what was forgotten, when, by whom and why, and updates the projections', async () => {
    const { id } = await place.remember({ layer: 'semantic', content: 'Something' });
    await place.memory.forget({ id, reason: 'asked to' }, 'mira');
    const db = new DatabaseSync(place.record.path, { readOnly: true });
    const note = db.prepare('SELECT * FROM forgotten_memories').get()!;
    expect(note).to.include({
      id,
      layer: 'semantic',
      forgotten_by: 'mira',
      reason: 'asked to',
      asked_for: 'id',
      wiped: 1,
    });
    expect({ ...db.prepare('SELECT subject, key FROM deletions').get() }).to.deep.equal({
      subject: 'node',
      key: id,
    });
    db.close();
    expect(await place.memory.forget({ id }, 'mira')).to.include({ forgotten: 0 });
    const error = await place.memory.read(id).catch((thrown) => thrown);
    expect(error).to.include({ code: 'memory_forgotten', status: 404 });
  });

  it('refuses an id that never was, and a request that names neither or both', async () => {
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => null,
        (error) => error.code,
      );
    expect(await code(place.memory.forget({ id: 'memory:none' }, 'mira'))).to.equal('memory_not_found');
    expect(await code(place.memory.forget({}, 'mira'))).to.equal('invalid_input');
    expect(await code(place.memory.forget({ id: 'memory:none', source: 'x' }, 'mira'))).to.equal(
      'invalid_input',
    );
  });

  it('forgets all that a source said, but not what others said in the same words', async () => {
    await place.remember({ layer: 'semantic', content: 'Only mira knows this one', source: 'mira' });
    await place.remember({ layer: 'episodic', content: 'Hello', source: 'mira', session: 's' });
    const shared = await place.remember({
      layer: 'semantic',
      content: 'Everybody says that the tests are slow',
      source: 'mira',
    });
    await place.remember({
      layer: 'semantic',
      content: 'everybody says that the tests are slow.',
      source: 'jo',
    });
    const jos = await place.remember({ layer: 'semantic', content: 'Jo has an opinion too', source: 'jo' });
    await place.remember({ layer: 'semantic', content: 'Jo has an opinion too', source: 'mira' });
    const reply = await place.memory.forget({ source: 'mira' }, 'mira');
    expect(reply).to.include({ forgotten: 2, kept: 2, wiped: true });
    const lines = (await place.lines()).map((line) => JSON.parse(line));
    expect(lines.map(({ id, source }) => [id, source])).to.deep.equal([
      [shared.id, 'jo'],
      [jos.id, 'jo'],
    ]);
    expect(JSON.stringify(lines)).not.to.contain('mira');
    expect(await place.memory.forget({ source: 'mira' }, 'mira')).to.include({ forgotten: 0, kept: 0 });
  });

  it('lets a forgotten key be used again', async () => {
    const { id } = await place.remember({ layer: 'semantic', content: 'One', key: 'k' });
    await place.memory.forget({ id }, 'mira');
    expect(await place.remember({ layer: 'semantic', content: 'Two', key: 'k' })).to.include({
      created: true,
    });
  });

  it('wipes after a start what a crash left', async () => {
    const { id } = await place.remember({ layer: 'semantic', content: 'Quentinella was here' });
    await place.writer.run('forgetMemories', { asked_for: 'id', name: id, by: 'mira', reason: null }, 'full');
    expect(bytes().includes('Quentinella')).to.equal(true);
    expect(await place.memory.finishForgetting()).to.equal(true);
    expect(bytes().includes('Quentinella')).to.equal(false);
  });

  it('leaves nothing in the files of the embedded graph', async () => {
    const folder = join(place.state, 'context', 'cypher');
    const limits = { cypher: { seconds: 20, rows: 100, memory_mb: 500 }, neo4j: null };
    const graph = openGraph({
      readers: place.readers,
      config: limits,
      password: null,
      folder,
      logger: silent,
    });
    const memory = new Memory({
      writer: place.writer,
      readers: place.readers,
      path: place.record.path,
      forgetElsewhere: () => graph.dropDeleted(),
    });
    const held = () =>
      existsSync(folder) &&
      readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes('Quentinella'));
    const ask = () => graph.query({ query: 'MATCH (m:Memory) RETURN count(m) AS n' });
    try {
      const { id } = await place.remember({ layer: 'semantic', content: 'Quentinella was here' });
      expect((await ask()).rows).to.deep.equal([{ n: 1 }]);
      expect(held()).to.equal(true);
      expect((await memory.forget({ id }, 'mira')).wiped).to.equal(true);
      expect(held()).to.equal(false);
      expect((await ask()).rows).to.deep.equal([{ n: 0 }]);
    } finally {
      await graph.close();
    }
  });

  it('is not done while a copy cannot be reached, and is done later', async () => {
    let reachable = false;
    const memory = new Memory({
      writer: place.writer,
      readers: place.readers,
      path: place.record.path,
      async forgetElsewhere() {
        if (!reachable) throw new Error('away');
      },
    });
    const { id } = await place.remember({ layer: 'semantic', content: 'Quentinella was here' });
    expect((await memory.forget({ id }, 'mira')).wiped).to.equal(false);
    expect(await memory.finishForgetting()).to.equal(false);
    reachable = true;
    expect(await memory.finishForgetting()).to.equal(true);
  });
});
