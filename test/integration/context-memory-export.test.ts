import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { MemoryLine } from '#kit/contracts/context/memory.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

describe('Export and import of the memory', () => {
  let from: MemoryPlace;
  let to: MemoryPlace;

  beforeEach(async () => {
    from = openMemory();
    to = openMemory();
    addEntity(from);
    const fact = { layer: 'semantic', subject: 'Release', predicate: 'is run by' };
    await from.remember({ ...fact, content: 'Jo does', valid_from: '2026-03-01T00:00:00Z', source: 'jo' });
    await from.remember({
      ...fact,
      content: 'Mira does',
      valid_from: '2026-01-01T00:00:00+01:00',
      confidence: 0.3,
    });
    await from.remember({
      layer: 'semantic',
      content: 'The "tests"\n are 🦊 slow',
      about: ['repo:demo/a'],
      key: 'k1',
    });
    await from.remember({
      layer: 'semantic',
      content: 'the "tests" are 🦊 slow',
      about: ['repo:demo/a'],
      key: 'k2',
      source: 'x',
    });
    for (const content of ['Hello', 'ok', 'Bye'])
      await from.remember({
        layer: 'episodic',
        session: 's',
        speaker: 'jo',
        content,
        at: '2026-02-02T02:02:02Z',
      });
    const { id } = await from.remember({ layer: 'procedural', content: 'Release', steps: ['Tag', 'Push'] });
    await from.memory.outcome({ id, worked: true, run: 'r1' });
    await from.memory.outcome({ id, worked: false });
    await from.memory.outcome({ id, worked: false });
  });

  afterEach(async () => {
    await from.close();
    await to.close();
  });

  function addEntity({ record }: MemoryPlace): void {
    const db = new DatabaseSync(record.path);
    db.exec(`INSERT INTO nodes (id, label, kind, repository, title, valid_from, changed)
             VALUES ('repo:demo/a', 'CoreEntity', 'repository', 'demo/a', 'demo/a', '2020-01-01T00:00:00.000Z', 0)`);
    db.close();
  }

  function edges({ record }: MemoryPlace): number {
    const db = new DatabaseSync(record.path, { readOnly: true });
    const { n } = db.prepare("SELECT count(*) AS n FROM edges WHERE type = 'ABOUT'").get() as { n: number };
    db.close();
    return n;
  }

  it('brings everything over, again and again with the same result', async () => {
    const lines = await from.lines();
    expect(lines).to.have.length(7);
    addEntity(to);
    expect(await to.memory.importAll(lines)).to.deep.equal({
      lines: 7,
      created: 7,
      unchanged: 0,
      skipped_forgotten: 0,
      conflicts: [],
      unlinked: 0,
    });
    expect(await to.lines()).to.deep.equal(lines);
    expect(await to.memory.importAll([lines.join('')])).to.include({ created: 0, unchanged: 7 });
    expect(await to.lines()).to.deep.equal(lines);
    expect(await to.texts('release', { layer: 'semantic' })).to.deep.equal(['Jo does']);
    // The repository's, and that of the playbook to its procedure.
    expect(edges(to)).to.equal(2);
    for (const query of ['release', 'tests slow', 'hello', 'tag'])
      expect(await to.texts(query)).to.deep.equal(await from.texts(query));
  });

  it('reads pieces of any length, with empty lines and without a last line end', async () => {
    const text = `\n${(await from.lines()).join('\r\n\n').trimEnd()}`;
    const pieces = async function* () {
      for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7);
    };
    expect(await to.memory.importAll(pieces())).to.include({ created: 7, unlinked: 1 });
    expect(await to.lines()).to.deep.equal(await from.lines());
  });

  it('masks secrets in what it brings in, and refuses them in a session or key', async () => {
    const line = JSON.parse((await from.lines())[0]!) as MemoryLine;
    const secret = { ...line, content: 'The password=hunter2 opens it', source: 'pwd: corr3ct' };
    expect(await to.memory.importAll([JSON.stringify(secret)])).to.include({ created: 1 });
    expect(await to.memory.importAll([JSON.stringify(secret)])).to.include({ created: 0, unchanged: 1 });
    const kept = JSON.parse((await to.lines())[0]!) as MemoryLine;
    expect(kept.content).to.equal('The password=[redacted password] opens it');
    expect(kept.source).to.equal('pwd: [redacted password]');
    const named = JSON.stringify({ ...line, session: 'password=hunter2' });
    await to.memory.importAll([named]).then(
      () => expect.fail('was imported'),
      (error: Error) => expect(error.message).to.include('/session').and.not.include('hunter2'),
    );
  });

  it('joins memories to entities that become known later', async () => {
    await to.memory.importAll(await from.lines());
    // A playbook brings its procedure.
    expect(edges(to)).to.equal(1);
    expect(await to.memory.link()).to.equal(0);
    addEntity(to);
    expect(await to.memory.link()).to.equal(1);
    expect(edges(to)).to.equal(2);
    expect(await to.memory.link()).to.equal(0);
  });

  it('imports nothing of a file with a bad line, and names the lines', async () => {
    const lines = await from.lines();
    const line = JSON.parse(lines[0]!) as MemoryLine;
    const bad = [
      lines[1]!,
      '{"id": 1}\n',
      'not JSON\n',
      `${JSON.stringify({ ...line, layer: 'other' })}\n`,
      `${JSON.stringify({ ...line, extra: true })}\n`,
      lines[1]!,
      `${JSON.stringify({ ...line, content: 'a\0b' })}\n`,
    ];
    const error = await to.memory.importAll(bad).catch((thrown) => thrown);
    expect(error).to.include({ code: 'memory_import_invalid', status: 400 });
    expect(error.message).to.match(/^nothing was imported: line 2 of 7: .*\(and 5 more\)$/);
    expect(error.errors.map(({ pointer }: { pointer: string }) => pointer)).to.deep.equal([
      '/2',
      '/3',
      '/4',
      '/5',
      '/6',
      '/7',
    ]);
    expect(await to.lines()).to.deep.equal([]);
  });

  it('leaves out what was forgotten here, unless it is forced', async () => {
    const lines = await from.lines();
    await to.memory.importAll(lines);
    const { id } = JSON.parse(lines[3]!) as MemoryLine;
    await to.memory.forget({ id }, 'mira');
    expect(await to.memory.importAll(lines)).to.include({ created: 0, unchanged: 6, skipped_forgotten: 1 });
    expect(await to.lines()).to.have.length(6);
    expect(await to.memory.importAll(lines, { force: true })).to.include({
      created: 1,
      skipped_forgotten: 0,
    });
    expect(await to.lines()).to.deep.equal(lines);
  });

  it('names what contradicts, and leaves what is there', async () => {
    const lines = await from.lines();
    await to.remember({ layer: 'semantic', content: 'Mine', key: 'k1' });
    await to.remember({ layer: 'episodic', session: 's', content: 'Mine too' });
    const reply = await to.memory.importAll(lines);
    expect(reply).to.include({ created: 5 });
    expect(reply.conflicts.map(({ line }) => line)).to.deep.equal([3, 4]);
    expect(reply.conflicts[0]!.reason).to.contain('has its key "k1"');
    const changed = JSON.stringify({ ...JSON.parse(lines[0]!), content: 'Somebody else does' });
    const { conflicts } = await to.memory.importAll([changed]);
    expect(conflicts.map(({ reason }) => reason)).to.deep.equal(['another memory has this id']);
    const [keyed] = lines
      .map((line) => JSON.parse(line) as MemoryLine)
      .filter(({ sightings }) => sightings[0]!.key);
    const twice = { ...keyed!, id: 'memory:twice', session: null, seq: null };
    for (const sighting of twice.sightings) sighting.key &&= 'other';
    twice.sightings.push(twice.sightings[0]!);
    const doubled = await to.memory.importAll([JSON.stringify(twice)]);
    expect(doubled.conflicts.map(({ reason }) => reason)).to.deep.equal([
      'its key "other" stands there twice',
    ]);
  });

  it('exports more than one page', async () => {
    await Promise.all(
      Array.from({ length: 1_203 }, (_, n) =>
        to.remember({ layer: 'semantic', content: `Memory number ${n} of many` }),
      ),
    );
    const lines = await to.lines();
    expect(new Set(lines.map((line) => JSON.parse(line).content)).size).to.equal(1_203);
    expect(lines).to.have.length(1_203);
  });
});
