import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { transaction } from '#kit/storage/database.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { lookUpMemories } from '../memory/lookup/lookup.ts';
import { prepareRecording } from '../memory/prepare-recording.ts';
import { openForWriting } from '../record/connection.ts';
import { GraphRecord } from '../record/graph-record.ts';
import { noteDamage } from '../record/recovery.ts';
import { openRecord } from './access.ts';
import { writeCommands } from './commands.ts';
import { migrate, versions } from './schema.ts';

const nodes = 4_000;
const module = new URL('./access.ts', import.meta.url).href;

describe('The record of an installation', () => {
  let state: string;
  let folder: string;
  let path: string;

  beforeEach(() => {
    state = temporaryFolder();
    folder = join(state, 'context');
    path = join(folder, 'record.sqlite');
  });

  /** A record of a few hundred pages, ended in order. */
  function fill(): void {
    const opened = openRecord(state);
    const db = openForWriting(path);
    const record = new GraphRecord(db);
    db.exec('BEGIN');
    for (let n = 1; n <= nodes; n++) {
      const title = `node ${n} ${'x'.repeat(200)}`;
      const node = record.putNode({
        id: `service:${n}`,
        label: 'CoreEntity',
        kind: 'service',
        title,
        valid_from: 'now',
      });
      if (n > 1)
        record.putEdge({
          from: node,
          to: node - 1,
          type: 'CORE_RELATION',
          kind: 'touches',
          valid_from: 'now',
        });
    }
    db.exec('COMMIT');
    db.close();
    opened.close();
  }

  function scribble(offset: number, length: number): void {
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(length, 0xa5), 0, length, offset);
  }

  /** As after a killed process. */
  function unclean(): void {
    writeFileSync(join(folder, 'holder.json'), '{"pid":1,"host":"x","since":"now"}');
  }

  function counts(): { nodes: number; edges: number; orphans: number; sound: string } {
    const db = new DatabaseSync(path, { readOnly: true });
    const one = (sql: string) => Object.values(db.prepare(sql).get() ?? { none: 0 })[0] as never;
    const found = {
      nodes: one('SELECT count(*) FROM nodes'),
      edges: one('SELECT count(*) FROM edges'),
      orphans: one('SELECT count(*) FROM pragma_foreign_key_check'),
      sound: one('PRAGMA integrity_check'),
    };
    db.close();
    return found;
  }

  /** Lets another process hold the record until it is released. */
  async function heldElsewhere() {
    const script = `import { openRecord } from ${JSON.stringify(module)};
      const opened = openRecord(process.argv[2]); process.send('held');
      process.on('message', () => { opened.close(); process.exit(); });`;
    const file = join(state, 'holder.mjs');
    writeFileSync(file, script);
    const child = fork(file, [state], { execArgv: ['--disable-warning=ExperimentalWarning'] });
    await once(child, 'message');
    return child;
  }

  it('indexes, signs and links memories that an older version stored, also after a crash between its steps', () => {
    mkdirSync(folder);
    const old = openForWriting(path);
    migrate(old, versions.length - 1);
    const at = '2026-01-01T00:00:00.000Z';
    const texts = ['ten', 'two', 'two'].map(
      (count) => `The deploy script needs ${count} approvals of people who did not write any of the changes.`,
    );
    for (const [nth, text] of texts.entries()) {
      const id = `memory:${nth}`;
      old
        .prepare(
          "INSERT INTO nodes (node, id, label, kind, title, valid_from, changed) VALUES (?, ?, 'Memory', 'x', ?, ?, ?)",
        )
        .run(nth + 1, id, text, at, nth + 1);
      old
        .prepare(
          `INSERT INTO memories (memory, id, layer, kind, words, recorded_at, valid_from, valid_to, context, content)
           VALUES (?, ?, 'semantic', 'x', 9, ?, ?, '9999-12-31T23:59:59.999Z', '', ?)`,
        )
        .run(nth + 1, id, at, at, text);
    }
    // A crash: the tables are new, what is made from them is not there yet.
    migrate(old);
    old.close();
    openRecord(state).close();
    const db = openForWriting(path);
    const duplicate = transaction(db, () =>
      writeCommands.recordMemory(
        new GraphRecord(db),
        prepareRecording({ layer: 'semantic', kind: 'x', content: texts[0]!.toLowerCase() }),
      ),
    );
    const everything = { layer: null, sessions: null, source: null, about: null, as_of: null };
    const { results } = lookUpMemories(db, { ...everything, query: 'two', limit: 5 });
    const { words } = db.prepare('SELECT words FROM memories WHERE memory = 1').get() as { words: number };
    db.close();
    expect(results.map(({ id }) => id).sort()).to.deep.equal(['memory:1', 'memory:2']);
    expect(words).to.equal(16);
    expect(duplicate).to.deep.include({ duplicate_of: 'memory:0', similar_to: ['memory:2', 'memory:1'] });
  });

  it('takes a record that was emptied after an orderly end for a damaged one, not for a new one', () => {
    fill();
    truncateSync(path, 0);
    const opened = openRecord(state);
    opened.close();
    expect(opened.recoveredNow).to.equal(true);
    expect(opened.recovery?.set_aside).to.contain('record.sqlite.corrupt-');
  });

  it('names what stands in the place of the record', () => {
    mkdirSync(path, { recursive: true });
    expect(() => openRecord(state))
      .to.throw(path)
      .with.property('code', 'record_not_a_file');
  });

  it('is private, and the same again at the next opening', () => {
    fill();
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    expect(existsSync(join(folder, 'holder.json'))).to.equal(false);
    const opened = openRecord(state);
    expect(opened).to.include({ path, recovery: null, recoveredNow: false });
    opened.close();
    expect(counts()).to.deep.equal({ nodes, edges: nodes - 1, orphans: 0, sound: 'ok' });
  });

  it('is held by one process, which a second one is given the name of; a killed holder frees it at once', async () => {
    const child = await heldElsewhere();
    expect(() => openRecord(state))
      .to.throw(`held by process ${child.pid} on `)
      .with.property('code', 'record_held');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const opened = openRecord(state);
    opened.close();
  });

  it('is free when its holder lets go', async () => {
    const child = await heldElsewhere();
    child.send('go');
    await once(child, 'exit');
    openRecord(state).close();
  });

  it('keeps every row of a record whose first page is gone', () => {
    fill();
    scribble(0, 4096);
    const said: string[] = [];
    const opened = openRecord(state, (text) => said.push(text));
    opened.close();
    expect(opened.recoveredNow).to.equal(true);
    expect(said.join()).to.contain('is damaged');
    expect(counts()).to.deep.equal({ nodes, edges: nodes - 1, orphans: 0, sound: 'ok' });
  });

  it('loses of torn pages only what was on them', () => {
    fill();
    const { size } = statSync(path);
    const torn = [0.3, 0.5, 0.7].map((part) => Math.floor((size * part) / 4096) * 4096);
    for (const offset of torn) scribble(offset, 4096);
    unclean();
    const opened = openRecord(state);
    opened.close();
    const left = counts();
    expect(left).to.include({ orphans: 0, sound: 'ok' });
    expect(left.nodes)
      .to.be.greaterThan(nodes - 100)
      .and.lessThanOrEqual(nodes);
    const { set_aside, tables, reason } = opened.recovery!;
    expect(set_aside).to.match(/record\.sqlite\.corrupt-\d{4}-/);
    expect(reason).to.not.equal('');
    expect(tables.find(({ name }) => name === 'nodes')).to.deep.include({ rows: left.nodes });
    const kept = readFileSync(set_aside);
    for (const offset of torn) expect(kept[offset]).to.equal(0xa5);
    rmSync(set_aside);
    const again = openRecord(state);
    again.close();
    expect(again).to.include({ recovery: null, recoveredNow: false });
  });

  for (const [what, spoil] of [
    ['is no database', () => writeFileSync(path, 'this is no database '.repeat(1000))],
    ['was cut off', () => truncateSync(path, 40_960)],
    ['is empty', () => truncateSync(path, 0)],
    ['has a torn header', () => scribble(16, 40)],
  ] as const) {
    it(`is a record that works when the file ${what}`, () => {
      fill();
      spoil();
      unclean();
      const opened = openRecord(state);
      opened.close();
      expect(counts()).to.include({ orphans: 0, sound: 'ok' });
      openRecord(state).close();
    });
  }

  it('is made again when a running service found it damaged', () => {
    fill();
    noteDamage(folder, 'database disk image is malformed');
    const opened = openRecord(state);
    opened.close();
    expect(opened.recovery!.reason).to.equal('database disk image is malformed');
    expect(counts()).to.include({ nodes, edges: nodes - 1 });
    expect(readdirSync(folder)).to.not.include('damage.json');
  });

  for (const point of ['record_damage_noted', 'record_set_aside', 'record_salvaged', 'record_remade']) {
    it(`goes on with its recovery after a crash at ${point}`, async () => {
      fill();
      scribble(0, 4096);
      const script = join(state, 'open.mjs');
      writeFileSync(
        script,
        `import { openRecord } from ${JSON.stringify(module)}; openRecord(process.argv[2]);`,
      );
      const child = fork(script, [state], {
        execArgv: ['--disable-warning=ExperimentalWarning'],
        env: { ...process.env, CORE_CRASH_AT: point },
      });
      const [, signal] = await once(child, 'exit');
      expect(signal).to.equal('SIGKILL');
      const opened = openRecord(state);
      opened.close();
      expect(opened.recoveredNow).to.equal(true);
      expect(counts()).to.deep.equal({ nodes, edges: nodes - 1, orphans: 0, sound: 'ok' });
      expect(readdirSync(folder).filter((name) => name.includes('corrupt'))).to.have.length(1);
      expect(readdirSync(folder).filter((name) => /\.(new|copy)/.test(name))).to.deep.equal([]);
    });
  }

  it('of a newer version is left alone', () => {
    mkdirSync(folder, { recursive: true });
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE future (x); PRAGMA user_version = 900');
    db.close();
    expect(() => openRecord(state))
      .to.throw('of version 900')
      .with.property('code', 'record_newer');
    expect(readdirSync(folder).filter((name) => name.includes('corrupt'))).to.deep.equal([]);
  });
});
