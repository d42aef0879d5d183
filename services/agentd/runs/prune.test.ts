import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import {
  decided,
  executionFinished,
  executionStarted,
  intended,
  planned,
  resulted,
  sampleRequest,
} from '../../../test/contract/run-store.sample.ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { runStoreIn } from '../../../test/fixtures/runs/run-store-in.ts';
import type { PruneRequest } from '../agent.ts';
import { agentdSchema } from '../schema.ts';
import type { DatabaseRunStore } from './database-run-store.ts';
import type { NewEvent } from './event.ts';
import type { Run } from './run.ts';
import { executorLease } from './run-store.ts';

const day = 86_400_000;

describe('pruning', () => {
  let stateDir: string;
  let now: number;
  let store: DatabaseRunStore;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'core-prune-'));
    now = Date.parse('2026-01-01T00:00:00.000Z');
    store = runStoreIn(stateDir, { clock: () => now });
  });

  afterEach(() => {
    store.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const runFolder = (runId: string): string => join(stateDir, 'runs', runId);
  const clone = (runId: string, suffix = ''): string => join(stateDir, 'clones', runId + suffix);

  async function makeRun(
    events: (actions: readonly Run['actions'][number]['definition'][]) => NewEvent[],
  ): Promise<string> {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => planned(run_id));
    await store.append(run_id, ({ actions }) => events(actions.map(({ definition }) => definition)));
    mkdirSync(join(clone(run_id), 'src'), { recursive: true });
    mkdirSync(clone(run_id, '.pids'));
    writeFileSync(join(clone(run_id), 'src/file'), 'x'.repeat(1000));
    return run_id;
  }

  const finished = (): Promise<string> =>
    makeRun((actions) => [
      ...actions.map((action) => decided(action)),
      executionStarted(),
      ...actions.flatMap(({ action_id }) => [intended(action_id), resulted(action_id)]),
      executionFinished(),
    ]);

  const prune = (change: Partial<PruneRequest> = {}): ReturnType<DatabaseRunStore['prune']> =>
    store.prune({ before: new Date(now - 30 * day).toISOString(), what: 'runs', dry_run: false, ...change });

  it('removes clones alone, or runs too, of which a tombstone keeps the head', async () => {
    const runId = await finished();
    await store.putArtifact(runId, 'content');
    await store.writeViews(runId);
    const { head } = await store.read(runId);
    now += 40 * day;

    const clones = await prune({ what: 'clones' });
    expect(clones).to.deep.include({ clones: [runId], runs: [], kept: [] });
    expect(clones.bytes).to.equal(1000);
    expect(readdirSync(join(stateDir, 'clones'))).to.deep.equal([]);
    expect((await store.read(runId)).status).to.equal('completed');

    const runs = await prune();
    expect(runs).to.deep.include({ clones: [], runs: [runId], kept: [] });
    expect(readdirSync(runFolder(runId))).to.deep.equal(['tombstone.json']);
    const tombstone = JSON.parse(readFileSync(join(runFolder(runId), 'tombstone.json'), 'utf8'));
    expect(tombstone).to.deep.equal({
      run_id: runId,
      head: head.hash,
      events: head.seq,
      status: 'completed',
      pruned_at: new Date(now).toISOString(),
      forge: 'local',
      owner: 'demo',
      repo: 'hello',
      number: 1,
    });
  });

  it('is reported when a pruned run is requested, and not when runs are listed', async () => {
    const runId = await finished();
    now += 40 * day;
    await prune();
    expect(await store.list({ limit: 10 })).to.deep.equal({ runs: [], next_cursor: null, problems: [] });
    for (const ask of [store.read(runId), store.verify(runId)]) {
      const error = await failure(ask);
      expect(codeOf(error)).to.equal('run_pruned');
      expect(String(error)).to.contain('2026-02-10');
    }
    expect(codeOf(await failure(store.append(runId, () => [])))).to.equal('run_pruned');
  });

  it('shows first what it would do', async () => {
    const runId = await finished();
    now += 40 * day;
    const shown = await prune({ dry_run: true });
    expect(shown).to.deep.include({ clones: [runId], runs: [runId] });
    expect(shown.bytes).to.be.greaterThan(1000);
    expect(existsSync(clone(runId))).to.equal(true);
    expect((await store.read(runId)).status).to.equal('completed');
  });

  it('leaves young runs alone', async () => {
    await finished();
    now += 20 * day;
    expect(await prune()).to.deep.equal({ clones: [], runs: [], kept: [], bytes: 0 });
  });

  const kept: [string, RegExp, (actions: readonly Run['actions'][number]['definition'][]) => NewEvent[]][] = [
    ['was interrupted', /interrupted/, () => [executionStarted()]],
    ['has an approval in force', /approved until/, (actions) => [decided(actions[0]!)]],
    [
      'has an undo that did not finish',
      /undo|interrupted/,
      () => [{ type: 'undo_started', data: { undo_id: 'u', by: 'mira', pid: 1 } }],
    ],
  ];
  for (const [title, reason, events] of kept) {
    it(`leaves alone what ${title}`, async () => {
      const runId = await makeRun(events);
      now += 40 * day;
      const result = await prune();
      expect(result).to.deep.include({ clones: [], runs: [], bytes: 0 });
      expect(result.kept[0]?.run_id).to.equal(runId);
      expect(result.kept[0]?.reason).to.match(reason);
      expect(existsSync(clone(runId))).to.equal(true);
    });
  }

  it('leaves alone what a process works on', async () => {
    const runId = await finished();
    const lease = await store.lease(executorLease(runId));
    now += 40 * day;
    const { kept } = await prune();
    expect(kept[0]?.run_id).to.equal(runId);
    expect(kept[0]?.reason).to.contain(`process ${process.pid}`);
    lease.release();
    expect((await prune()).runs).to.deep.equal([runId]);
  });

  it('keeps what waits for a person as long as an approval lasts', async () => {
    const runId = await makeRun(() => []);
    now += 5 * day;
    const before = new Date(now - day).toISOString();
    expect((await prune({ before })).kept).to.deep.equal([{ run_id: runId, reason: 'awaits approval' }]);
    now += 5 * day;
    expect((await prune({ before })).runs).to.deep.equal([runId]);
  });

  it('leaves a damaged run alone', async () => {
    const runId = await finished();
    const client = new DatabaseSync(join(stateDir, agentdSchema.file));
    client.exec("UPDATE run_events SET line = 'damaged' WHERE seq = 2");
    client.close();
    now += 40 * day;
    store = runStoreIn(stateDir, { clock: () => now });
    const { kept } = await prune();
    expect(kept).to.have.length(1);
    expect(kept[0]).to.deep.include({ run_id: runId });
    expect(kept[0]?.reason).to.contain('cannot be read');
    expect(existsSync(clone(runId))).to.equal(true);
  });

  it('finishes what a crash left half done', async () => {
    const runId = await finished();
    await store.writeViews(runId);
    now += 40 * day;
    await prune();
    writeFileSync(join(runFolder(runId), 'summary.md'), 'left over');
    mkdirSync(clone('run_0199f3c2-0000-7000-8000-000000000005'), { recursive: true });
    mkdirSync(clone('.run_0199f3c2-0000-7000-8000-000000000005', '.pids.pruned'));
    for (const name of readdirSync(join(stateDir, 'clones')))
      utimesSync(join(stateDir, 'clones', name), 0, 0);
    await prune();
    expect(readdirSync(runFolder(runId))).to.deep.equal(['tombstone.json']);
    expect(readdirSync(join(stateDir, 'clones'))).to.deep.equal([]);
  });

  it('refuses a time that is none', async () => {
    expect(String(await failure(prune({ before: 'yesterday' })))).to.contain('RFC 3339');
  });
});
