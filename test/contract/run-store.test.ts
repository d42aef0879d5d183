import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import type { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { executorLease } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { failure } from '../fixtures/failure.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { startRunWriter, type Writer } from '../fixtures/runs/run-writer.ts';
import { runStoreContract } from './run-store.contract.ts';
import { decided, executionStarted, intended, planned, sampleRequest, turn } from './run-store.sample.ts';

function makeState() {
  const home = temporaryFolder();
  const stateDir = join(home, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  const stores: DatabaseRunStore[] = [];
  return {
    home,
    stateDir,
    open(): DatabaseRunStore {
      const store = runStoreIn(stateDir);
      stores.push(store);
      return store;
    },
    async end(): Promise<void> {
      for (const store of stores) await store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

runStoreContract('SQLite', async () => {
  const { open, end } = makeState();
  return { store: open(), another: open, end };
});

describe('run store in a file', () => {
  let state: ReturnType<typeof makeState>;
  let store: DatabaseRunStore;

  beforeEach(() => {
    state = makeState();
    store = state.open();
  });

  afterEach(() => state.end());

  const file = (): string => join(state.stateDir, agentdSchema.file);
  const folderOf = (runId: string): string => join(state.stateDir, 'runs', runId);

  /** Changes rows with a plain SQLite client. */
  function tamper(...statements: string[]): void {
    const client = new DatabaseSync(file());
    client.exec('PRAGMA busy_timeout = 5000');
    for (const statement of statements) client.exec(statement);
    client.close();
  }

  it('keeps everything readable by its owner alone', async () => {
    const { run_id } = await store.create(sampleRequest());
    const digest = await store.putArtifact(run_id, 'x');
    await store.writeViews(run_id);
    const mode = (path: string): number => statSync(path).mode & 0o777;
    const folder = folderOf(run_id);
    expect([mode(folder), mode(join(folder, 'artifacts'))]).to.deep.equal([0o700, 0o700]);
    const paths = [file(), join(folder, 'events.jsonl'), join(folder, 'artifacts', digest)];
    expect(paths.map(mode)).to.deep.equal([0o600, 0o600, 0o600]);
  });

  it('loses and repeats nothing when two processes append at once', async () => {
    const { run_id } = await store.create(sampleRequest());
    const writers = [startWriter(run_id, 60), startWriter(run_id, 60)];
    const acknowledged = (await Promise.all(writers.map(({ ended }) => ended))).flat();
    expect(acknowledged).to.have.length(120);
    expect(acknowledged.toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 120 }, (_, index) => index + 2),
    );
    expect((await store.verify(run_id)).problems).to.deep.equal([]);
    expect((await store.read(run_id)).head.seq).to.equal(121);
  });

  it('keeps every acknowledged event when the writer is killed at any moment', async () => {
    const { run_id } = await store.create(sampleRequest());
    for (let round = 0; round < 5; round++) {
      const before = (await store.read(run_id)).head.seq;
      const { child, ended } = startWriter(run_id, 100_000, 3, 20_000);
      await once(child.stdout!, 'data');
      await new Promise((resolve) => setTimeout(resolve, round * 7));
      child.kill('SIGKILL');
      const last = (await ended).at(-1) ?? before;
      const reader = state.open();
      expect((await reader.events(run_id)).length).to.be.at.least(last);
      const run = await reader.append(run_id, () => [turn()]);
      expect(run.head.seq).to.be.greaterThan(last);
      expect((await reader.list({ limit: 1 })).runs[0]?.updated_at).to.equal(run.updated_at);
      await reader.writeViews(run_id);
      const { problems } = await reader.verify(run_id);
      expect(problems.filter(({ what }) => !what.startsWith('removed'))).to.deep.equal([]);
    }
  });

  for (const [point, appended] of [
    ['events_decided', false],
    ['events_committed', true],
  ] as const) {
    it(`keeps all of an append or nothing after a crash at ${point}`, async () => {
      const { run_id } = await store.create(sampleRequest());
      const { ended } = startWriter(run_id, 1, 1, 10, { CORE_CRASH_AT: point });
      expect(await ended).to.deep.equal([]);
      expect((await store.read(run_id)).head.seq).to.equal(appended ? 2 : 1);
      expect((await store.verify(run_id)).problems).to.deep.equal([]);
    });
  }

  describe('with changed rows', () => {
    let runId: string;
    let sound: string;

    beforeEach(async () => {
      sound = (await store.create(sampleRequest())).run_id;
      runId = (await store.create(sampleRequest())).run_id;
      for (const content of ['content', 'one']) await store.putArtifact(runId, content);
      const run = await store.append(runId, () => planned(runId));
      await store.append(runId, () => run.actions.map(({ definition }) => decided(definition)));
      await store.writeViews(runId);
    });

    const changes: Readonly<Record<string, () => readonly string[]>> = {
      'a word of an event': () => [
        `UPDATE run_events SET line = replace(line, '"mira"', '"eve!"') WHERE run_id = '${runId}' AND seq = 1`,
      ],
      'the hash of an event': () => [
        `UPDATE run_events SET line = replace(line, substr(hash, 1, 8), '00000000') WHERE run_id = '${runId}' AND seq = 3`,
      ],
      'the order of two events': () => [
        `UPDATE run_events SET seq = 1000 WHERE run_id = '${runId}' AND seq = 3`,
        `UPDATE run_events SET seq = 3 WHERE run_id = '${runId}' AND seq = 4`,
        `UPDATE run_events SET seq = 4 WHERE run_id = '${runId}' AND seq = 1000`,
      ],
      'a deleted event': () => [`DELETE FROM run_events WHERE run_id = '${runId}' AND seq = 5`],
      'the deleted newest event': () => [
        `DELETE FROM run_events WHERE run_id = '${runId}' AND seq = (SELECT seq FROM runs WHERE run_id = '${runId}')`,
      ],
      'the newest event and the head': () => [
        `DELETE FROM run_events WHERE run_id = '${runId}' AND seq = (SELECT seq FROM runs WHERE run_id = '${runId}')`,
        `UPDATE runs SET (seq, hash) = (SELECT seq, hash FROM run_events AS e WHERE e.run_id = '${runId}' ORDER BY seq DESC LIMIT 1) WHERE run_id = '${runId}'`,
      ],
      'all events, deleted': () => [`DELETE FROM run_events WHERE run_id = '${runId}'`],
      'the deleted row of the run': () => [`DELETE FROM runs WHERE run_id = '${runId}'`],
      'the events of another run': () => [
        `DELETE FROM run_events WHERE run_id = '${runId}'`,
        `INSERT INTO run_events SELECT '${runId}', seq, line, prev, hash FROM run_events WHERE run_id = '${sound}'`,
      ],
      'an artifact': () => [
        `UPDATE run_artifacts SET content = CAST('evil' AS BLOB) WHERE run_id = '${runId}'`,
      ],
      'a deleted artifact': () => [`DELETE FROM run_artifacts WHERE run_id = '${runId}'`],
    };

    for (const [what, statements] of Object.entries(changes)) {
      it(`refuses a damaged run, reports it, and still lists the others: ${what}`, async () => {
        tamper(...statements());
        for (const reader of [store, state.open()]) {
          const error = await failure(reader.requireUnaltered(runId));
          const refusals = [
            ...['run_damaged', 'record_cut', 'database_behind', 'artifact_differs', 'run_not_found'],
          ];
          expect(codeOf(error), what).to.be.oneOf(refusals);
          expect((await reader.verify(runId)).problems, what).to.not.deep.equal([]);
          const { runs } = await reader.list({ limit: 10 });
          expect(runs.map(({ run_id }) => run_id)).to.include(sound);
        }
        const fresh = state.open();
        if (!what.includes('artifact'))
          expect(codeOf(await failure(fresh.append(runId, () => [turn()])))).to.be.oneOf([
            ...['run_damaged', 'record_cut', 'database_behind', 'run_not_found'],
          ]);
        expect((await fresh.read(sound)).run_id).to.equal(sound);
      });
    }

    it('names an event that was inserted after the head, and never reads it', async () => {
      tamper(
        `INSERT INTO run_events SELECT run_id, seq + 1, line, prev, hash FROM run_events WHERE run_id = '${runId}' ORDER BY seq DESC LIMIT 1`,
      );
      const before = await store.events(runId);
      expect(await state.open().events(runId)).to.deep.equal(before);
      expect((await store.verify(runId)).problems.map(({ where }) => where).join()).to.contain(
        'run_events line',
      );
      expect((await failure(state.open().append(runId, () => [turn()]))) instanceof Error).to.equal(true);
    });
  });

  it('does not read the folder: an edited folder changes nothing, is named, and is written again', async () => {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => [turn()]);
    await store.writeViews(run_id);
    const log = join(folderOf(run_id), 'events.jsonl');
    const before = readFileSync(log, 'utf8');
    writeFileSync(log, before.replace('"mira"', '"eve!"'));
    const fresh = state.open();
    expect((await fresh.read(run_id)).request.requested_by).to.equal('mira');
    expect((await fresh.verify(run_id)).problems.map(({ where }) => where).join()).to.contain(
      'mirror on this host: events.jsonl line 1',
    );
    await fresh.mirror(run_id);
    expect(readFileSync(log, 'utf8')).to.equal(before);
    const { problems } = await fresh.verify(run_id);
    expect(problems.filter(({ where }) => where.includes('line'))).to.deep.equal([]);
  });

  it('stops after an older copy of the file was restored, until a person restores events or accepts the loss', async () => {
    const { run_id } = await store.create(sampleRequest());
    await store.writeViews(run_id);
    await store.close();
    const copy = readFileSync(file());
    const later = state.open();
    await later.append(run_id, () => planned(run_id));
    await later.writeViews(run_id);
    await later.close();
    for (const name of readdirSync(state.stateDir))
      if (name.startsWith(agentdSchema.file)) rmSync(join(state.stateDir, name));
    writeFileSync(file(), copy, { mode: 0o600 });
    const restored = state.open();
    const error = await failure(restored.append(run_id, () => [turn()]));
    expect(codeOf(error)).to.equal('database_behind');
    expect(await restored.record(run_id)).to.deep.include({ restorable: true });
    await restored.restore(run_id);
    expect((await restored.read(run_id)).status).to.equal('awaiting_approval');
    expect(
      (await restored.verify(run_id)).problems.filter(({ what }) => !what.startsWith('removed')),
    ).to.deep.equal([]);
  });

  it('names the runs that it lost with its file, resolves prefixes of them, and restores them', async () => {
    const runs = [];
    for (let count = 0; count < 7; count++) {
      const { run_id } = await store.create(sampleRequest());
      await store.writeViews(run_id);
      runs.unshift(run_id);
    }
    await store.close();
    for (const name of readdirSync(state.stateDir))
      if (name.startsWith(agentdSchema.file)) rmSync(join(state.stateDir, name));
    const empty = state.open();
    expect(await empty.list({ limit: 10 })).to.deep.include({
      runs: [],
      problems: [
        ...runs
          .slice(0, 5)
          .map((id) => `${id} is in a folder of this host, and the database lost it: ./core recover ${id}`),
        '2 more runs are in folders of this host, and the database lost them',
      ],
    });
    const [newest] = runs as [string, ...string[]];
    const clone = join(state.stateDir, 'clones', newest);
    mkdirSync(clone, { recursive: true });
    const before = new Date(Date.now() + 60_000).toISOString();
    await empty.prune({ before, what: 'runs', dry_run: false });
    expect(existsSync(clone)).to.equal(true);
    expect(await empty.resolve(newest.slice(0, -1))).to.equal(newest);
    expect(codeOf(await failure(empty.read(newest)))).to.equal('database_behind');
    await empty.restore(newest);
    expect(await empty.list({ limit: 10 })).to.deep.include({ problems: [] });
    expect((await empty.verify(newest)).problems).to.deep.equal([]);
  });

  it('shows that the executor died, at once', async () => {
    const { run_id } = await store.create(sampleRequest());
    const script = `
      import { runStoreIn } from ${JSON.stringify(fileURLToPath(new URL('../fixtures/runs/run-store-in.ts', import.meta.url)))};
      const store = runStoreIn(${JSON.stringify(state.stateDir)});
      await store.lease(${JSON.stringify(executorLease(run_id))});
      console.log('held');
      setInterval(() => {}, 1000);`;
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await once(child.stdout, 'data');
    await store.append(run_id, () => [
      ...planned(run_id),
      executionStarted(),
      intended('act_1_create_branch'),
    ]);
    expect((await store.read(run_id)).status).to.equal('executing');
    expect(codeOf(await failure(store.lease(executorLease(run_id))))).to.equal('lease_held');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const run = await store.read(run_id);
    expect([run.status, run.actions[0]?.state]).to.deep.equal(['interrupted', 'unknown']);
    await (await store.lease(executorLease(run_id))).release();
  });

  it('reports a state folder that is a file', async () => {
    const path = join(state.stateDir, 'file');
    writeFileSync(path, '');
    const error = await failure(runStoreIn(path).create(sampleRequest()));
    expect(codeOf(error)).to.equal('state_not_writable');
    expect(String(error)).to.contain(path);
  });

  function startWriter(
    runId: string,
    events: number,
    batch = 1,
    size = 10,
    variables: Record<string, string> = {},
    shell = '',
  ): Writer {
    return startRunWriter({ home: state.home, runId, events, batch, size, variables, shell });
  }
});
