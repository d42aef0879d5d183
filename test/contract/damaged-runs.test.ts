import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import type { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { failure } from '../fixtures/failure.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { asSqliteClient, tamper } from '../fixtures/runs/tamper.ts';
import { everybody } from '../fixtures/world/world.ts';
import { decided, executionStarted, planned, sampleRequest, turn } from './run-store.sample.ts';

/** Rows that were damaged while a process has the run in memory, and their recovery. */
describe('a run whose rows were damaged', () => {
  let stateDir: string;
  let store: DatabaseRunStore;
  let runId: string;
  const open: DatabaseRunStore[] = [];

  beforeEach(async () => {
    stateDir = join(temporaryFolder(), 'state');
    mkdirSync(stateDir, { mode: 0o700 });
    store = opened();
    runId = (await store.create(sampleRequest({ idempotency_key: 'key' }))).run_id;
    await store.append(runId, () => planned(runId));
    await store.putArtifact(runId, 'content');
    await store.writeViews(runId);
  });

  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  function opened(): DatabaseRunStore {
    const one = runStoreIn(stateDir);
    open.push(one);
    return one;
  }

  const folder = () => join(stateDir, 'runs', runId);
  const mirrored = () => readFileSync(join(folder(), 'events.jsonl'), 'utf8').trimEnd().split('\n').length;
  const damage = (seq: number) =>
    tamper(
      stateDir,
      `UPDATE run_events SET line = replace(line, '"at":"2', '"at":"3') WHERE run_id = ? AND seq = ?`,
      runId,
      seq,
    );
  const events = () =>
    asSqliteClient(stateDir, (client) =>
      Number(client.prepare('SELECT count(*) AS n FROM run_events WHERE run_id = ?').get(runId)!.n),
    );
  const recover = (one: DatabaseRunStore) =>
    one.recover({ run_id: runId, by: everybody, reason: 'a bad disk' });

  /** Copies the database; the returned function restores this copy. */
  function olderDatabase(): () => Promise<void> {
    const copy = join(stateDir, '..', 'older.sqlite');
    asSqliteClient(stateDir, (client) => client.exec(`VACUUM INTO '${copy}'`));
    return async () => {
      for (const one of open.splice(0)) await one.close();
      for (const name of readdirSync(stateDir))
        if (name.startsWith(agentdSchema.file)) rmSync(join(stateDir, name));
      copyFileSync(copy, join(stateDir, agentdSchema.file));
    };
  }

  for (const change of [
    `UPDATE run_events SET line = CAST(line AS BLOB)`,
    `UPDATE run_events SET seq = 'abc'`,
    `UPDATE run_events SET hash = x'00'`,
    `UPDATE runs SET tombstone = x'00'`,
    `UPDATE runs SET size = 1.5`,
    `UPDATE run_artifacts SET content = 'text'`,
  ])
    it(`does not take a value of another type: ${change}`, () => {
      expect(() => tamper(stateDir, change)).to.throw(/cannot store/);
    });

  it('does not hide the other runs if its tombstone is no JSON', async () => {
    tamper(stateDir, "UPDATE runs SET tombstone = '{'");
    const other = await opened().create(sampleRequest());
    expect((await opened().list({ limit: 10 })).runs.map(({ run_id }) => run_id)).to.include(other.run_id);
    const error = await failure(opened().read(runId));
    expect(codeOf(error)).to.equal('run_damaged');
    expect(String(error)).to.contain(runId).and.contain('tombstone');
  });

  for (const [name, change] of [
    ['an event was edited', () => damage(2)],
    [
      'an event was deleted',
      () => tamper(stateDir, 'DELETE FROM run_events WHERE run_id = ? AND seq = 2', runId),
    ],
    [
      'an event was moved to the end',
      () => tamper(stateDir, 'UPDATE run_events SET seq = 1000000 WHERE run_id = ? AND seq = 2', runId),
    ],
    ['all events were deleted', () => tamper(stateDir, 'DELETE FROM run_events WHERE run_id = ?', runId)],
  ] as const)
    it(`is not changed by a process that read it before: ${name}`, async () => {
      const { actions } = await store.read(runId);
      change();
      const before = events();
      const codes = ['run_damaged', 'record_cut', 'database_behind'];
      for (const work of [
        () => store.append(runId, () => [turn()]),
        () => store.append(runId, () => [decided(actions[0]!.definition)]),
        () => store.requireSound(runId),
        () => store.requireUnaltered(runId),
      ])
        expect(codeOf(await failure(work()))).to.be.oneOf(codes);
      expect(events()).to.equal(before);
    });

  it('is not changed if an event follows the head', async () => {
    const { head } = await store.append(runId, () => [turn()]);
    const older = (await store.events(runId)).at(-2)!;
    tamper(stateDir, 'UPDATE runs SET seq = ?, hash = ? WHERE run_id = ?', older.seq, older.hash, runId);
    expect(head.seq).to.equal(older.seq + 1);
    expect(codeOf(await failure(store.append(runId, () => [turn()])))).to.equal('record_cut');
    expect(codeOf(await failure(opened().requireSound(runId)))).to.equal('record_cut');
  });

  it('is not accepted as another run if its rows get another identifier', async () => {
    const other = `${runId.slice(0, -3)}abc`;
    asSqliteClient(stateDir, (client) => {
      client.exec(`CREATE TEMP TABLE copy AS SELECT * FROM runs WHERE run_id = '${runId}';
        UPDATE copy SET run_id = '${other}', key_digest = NULL; INSERT INTO runs SELECT * FROM copy;
        INSERT INTO run_events SELECT '${other}', seq, line, prev, hash FROM run_events WHERE run_id = '${runId}'`);
    });
    const error = await failure(store.read(other));
    expect(codeOf(error)).to.equal('run_damaged');
    expect((error as Error).message).to.contain(`belongs to run ${runId}`);
  });

  it('is not restored from a folder that ends before the newest acknowledged event', async () => {
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition)]);
    await store.append(runId, () => [executionStarted()]);
    damage(mirrored() + 1);
    const rows = events();
    const fresh = opened();
    const error = await failure(fresh.restore(runId));
    expect(codeOf(error)).to.equal('mirror_behind');
    expect((error as Error).message)
      .to.contain(`ends with event ${mirrored()}`)
      .and.contain(`event ${rows}`);
    expect(events()).to.equal(rows);
    const { kept, acknowledged } = await fresh.record(runId);
    expect([kept?.seq, acknowledged?.seq]).to.deep.equal([mirrored(), rows]);
    const run = await recover(fresh);
    expect(run.actions[0]).to.include({ approval: 'required' });
  });

  it('is restored if the folder has all events', async () => {
    damage(2);
    const fresh = opened();
    expect((await fresh.restore(runId)).status).to.equal('awaiting_approval');
    expect((await fresh.verify(runId)).problems).to.deep.equal([]);
  });

  it('is restored if only its row is gone', async () => {
    await store.close();
    open.splice(0);
    tamper(stateDir, 'DELETE FROM runs WHERE run_id = ?', runId);
    const fresh = opened();
    expect(await fresh.resolve(runId)).to.equal(runId);
    expect((await fresh.verify(runId)).problems.map(({ what }) => what).join()).to.contain(
      'row of the run is gone',
    );
    await fresh.restore(runId);
    expect((await fresh.read(runId)).status).to.equal('awaiting_approval');
    expect(codeOf(await failure(fresh.restore(runId)))).to.equal('record_whole');
  });

  it('is restored after its request was repeated; the key keeps the newer run', async () => {
    await store.close();
    open.splice(0);
    for (const name of readdirSync(stateDir))
      if (name.startsWith(agentdSchema.file)) rmSync(join(stateDir, name));
    const fresh = opened();
    const again = await fresh.create(sampleRequest({ idempotency_key: 'key' }));
    expect((await fresh.restore(runId)).status).to.equal('awaiting_approval');
    expect((await fresh.withKey('key'))?.run_id).to.equal(again.run_id);
  });

  it('is reported if its row has the key of another request', async () => {
    const other = await store.create(sampleRequest());
    tamper(stateDir, 'UPDATE runs SET key_digest = ? WHERE run_id = ?', 'f'.repeat(64), other.run_id);
    const { problems } = await store.verify(other.run_id);
    expect(problems).to.deep.equal([
      { where: 'runs key_digest', what: `says "${'f'.repeat(64)}", and the events null` },
    ]);
  });

  it('sets aside damaged events and events that only the folder has, if the loss is accepted', async () => {
    const putBack = olderDatabase();
    await store.append(runId, () => [turn()]);
    await store.writeViews(runId);
    const lost = (await store.events(runId)).at(-1)!;
    await putBack();
    damage(2);
    const fresh = opened();
    await recover(fresh);
    const [event] = (await fresh.events(runId)).filter(({ type }) => type === 'record_recovered');
    if (event?.type !== 'record_recovered') throw new Error('the loss is not recorded');
    expect(event.data.lost).to.deep.equal({ seq: lost.seq, hash: lost.hash });
    const aside = Buffer.from(await fresh.artifact(runId, event.data.set_aside!.artifact)).toString('utf8');
    expect(aside).to.contain('"at":"3').and.contain(lost.hash);
  });

  it('stays pruned if an older database is restored', async () => {
    const putBack = olderDatabase();
    await store.append(runId, ({ actions }) => [decided(actions[0]!.definition, 'reject')]);
    tamper(stateDir, "UPDATE runs SET updated_at = '2020-01-01T00:00:00.000Z' WHERE run_id = ?", runId);
    writeFileSync(join(folder(), 'tombstone.json'), '{}');
    rmSync(join(folder(), 'events.jsonl'));
    await putBack();
    const fresh = opened();
    for (const work of [() => fresh.append(runId, () => [turn()]), () => fresh.requireUnaltered(runId)]) {
      const error = await failure(work());
      expect(codeOf(error)).to.equal('database_behind');
      expect((error as Error).message).to.contain('was pruned on this host');
    }
  });

  it('is not pruned while the folder has more events, nor because a list calls it pruned', async () => {
    const putBack = olderDatabase();
    await store.append(runId, () => [turn()]);
    await store.writeViews(runId);
    await putBack();
    tamper(
      stateDir,
      "UPDATE runs SET updated_at = '2020-01-01T00:00:00.000Z', status = 'cancelled' WHERE run_id = ?",
      runId,
    );
    const fresh = opened();
    const before = '2025-01-01T00:00:00.000Z';
    const { runs, kept } = await fresh.prune({ before, what: 'runs', dry_run: false });
    expect(runs).to.deep.equal([]);
    expect(kept[0]!.reason).to.contain("behind this host's mirror");
    tamper(stateDir, "UPDATE runs SET status = 'pruned' WHERE run_id = ?", runId);
    await fresh.prune({ before, what: 'clones', dry_run: false });
    expect(existsSync(join(folder(), 'events.jsonl'))).to.equal(true);
  });

  for (const [name, change] of [
    ['without its log', () => rmSync(join(folder(), 'events.jsonl'))],
    ['empty', () => replaced(folder(), mkdirSync)],
    ['a file', () => replaced(folder(), (path) => writeFileSync(path, ''))],
    ['with a folder instead of its log', () => replaced(join(folder(), 'events.jsonl'), mkdirSync)],
  ] as const)
    it(`is verified by its rows if the folder is ${name}`, async () => {
      change();
      const { problems, events: count } = await opened().verify(runId);
      expect(count).to.equal(events());
      expect(problems).to.have.length(1);
      expect(problems[0]!.where).to.equal('mirror on this host');
      expect(problems[0]!.what).to.contain(`./core mirror ${runId}`);
    });
});

function replaced(path: string, make: (path: string) => void): void {
  rmSync(path, { recursive: true });
  make(path);
}
