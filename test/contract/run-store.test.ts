import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { FileRunStore } from '../../services/agentd/runs/file-run-store.ts';
import { executorLease } from '../../services/agentd/runs/run-store.ts';
import { failure } from '../fixtures/failure.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { startRunWriter, type Writer } from '../fixtures/runs/run-writer.ts';
import { until } from '../fixtures/until.ts';
import { runStoreContract } from './run-store.contract.ts';
import { executionStarted, intended, planned, sampleRequest, turn } from './run-store.sample.ts';

function makeState(): { home: string; stateDir: string; open: () => FileRunStore; end: () => Promise<void> } {
  const home = mkdtempSync(join(tmpdir(), 'core-runs-'));
  const stateDir = join(home, 'state');
  mkdirSync(stateDir);
  const stores: FileRunStore[] = [];
  return {
    home,
    stateDir,
    open() {
      const store = new FileRunStore({ stateDir });
      stores.push(store);
      return store;
    },
    async end() {
      for (const store of stores) store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

runStoreContract('folders', async () => {
  const { open, end } = makeState();
  return { store: open(), another: open, end };
});

describe('run store in folders', () => {
  let state: ReturnType<typeof makeState>;
  let store: FileRunStore;

  beforeEach(() => {
    state = makeState();
    store = state.open();
  });

  afterEach(() => state.end());

  const logOf = (runId: string): string => join(state.stateDir, 'runs', runId, 'events.jsonl');

  it('keeps everything readable by its owner alone', async () => {
    const { run_id } = await store.create(sampleRequest());
    const digest = await store.putArtifact(run_id, 'x');
    const folder = join(state.stateDir, 'runs', run_id);
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect([mode(folder), mode(join(folder, 'artifacts'))]).to.deep.equal([0o700, 0o700]);
    expect([mode(logOf(run_id)), mode(join(folder, 'artifacts', digest))]).to.deep.equal([0o600, 0o600]);
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
      const { problems } = await reader.verify(run_id);
      expect(problems.filter(({ where }) => !where.startsWith('artifacts/'))).to.deep.equal([]);
    }
  });

  for (const point of ['events_written', 'events_durable', 'head_written']) {
    it(`recovers from a crash at ${point}`, async () => {
      const { run_id } = await store.create(sampleRequest());
      const { ended } = startWriter(run_id, 1, 1, 10, { CORE_CRASH_AT: point });
      expect(await ended).to.deep.equal([]);
      const page = await store.list({ limit: 10 });
      const run = await store.read(run_id);
      expect(run.head.seq).to.equal(2);
      expect(page.runs[0]?.updated_at).to.equal(run.updated_at);
      expect((await store.verify(run_id)).problems).to.deep.equal([]);
    });
  }

  it('sets a torn last line aside with the next write, whatever its length', async () => {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => [turn()]);
    const whole = readFileSync(logOf(run_id));
    const line = whole.subarray(whole.indexOf('\n') + 1, -1);
    for (const torn of [Buffer.from('{'), line, Buffer.alloc(5000), Buffer.from([0xff])]) {
      const before = await store.read(run_id);
      appendFileSync(logOf(run_id), torn);
      expect((await state.open().read(run_id)).head).to.deep.equal(before.head);
      expect((await state.open().list({ limit: 1 })).runs).to.have.length(1);
      expect((await store.verify(run_id)).problems.map(({ what }) => what).join()).to.contain('line feed');
      const run = await store.append(run_id, () => [turn()]);
      expect(run.head.seq).to.equal(before.head.seq + 2);
      const aside = (await store.events(run_id)).at(-2)!;
      expect(aside.type).to.equal('torn_line_set_aside');
      const { bytes, artifact } = aside.data as { bytes: number; artifact: string };
      expect(bytes).to.equal(torn.length);
      expect(Buffer.from(await store.artifact(run_id, artifact))).to.deep.equal(torn);
    }
    const { problems } = await store.verify(run_id);
    expect(problems.filter(({ what }) => !what.startsWith('removed'))).to.deep.equal([]);
  });

  it('says clearly that a run is damaged, and still lists the others', async () => {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => [turn()]);
    const sound = await store.create(sampleRequest());
    const bytes = readFileSync(logOf(run_id));
    writeFileSync(logOf(run_id), bytes.toString().replace('"mira"', '"eve!"'));
    const fresh = state.open();
    const error = await failure(fresh.read(run_id));
    expect(codeOf(error)).to.equal('run_damaged');
    expect(String(error)).to.contain('event 1');
    expect(codeOf(await failure(fresh.append(run_id, () => [turn()])))).to.equal('run_damaged');
    rmSync(join(state.stateDir, 'index.sqlite'));
    const page = await fresh.list({ limit: 10 });
    expect(page.runs.map((run) => run.run_id)).to.deep.equal([sound.run_id]);
    expect(page.problems.join()).to.contain(run_id);
    writeFileSync(logOf(run_id), bytes);
    expect((await state.open().list({ limit: 10 })).runs).to.have.length(2);
    expect((await fresh.list({ limit: 10 })).problems).to.deep.equal([]);
  });

  it('leaves foreign things among the runs alone and reports them', async () => {
    const { run_id } = await store.create(sampleRequest());
    const runs = join(state.stateDir, 'runs');
    writeFileSync(join(runs, 'notes.txt'), 'mine');
    mkdirSync(join(runs, 'run_backup'));
    mkdirSync(join(runs, 'run_0199f3c2-0000-7000-8000-000000000001'));
    symlinkSync('/etc', join(runs, 'run_0199f3c2-0000-7000-8000-000000000002'));
    writeFileSync(join(runs, 'run_0199f3c2-0000-7000-8000-000000000003'), 'a file');
    mkdirSync(join(runs, `.run_0199f3c2-0000-7000-8000-000000000004.new`));
    for (const lister of [store, state.open()]) {
      const page = await lister.list({ limit: 10 });
      expect(page.runs.map((run) => run.run_id)).to.deep.equal([run_id]);
      expect(page.problems).to.have.length(5);
      expect(page.problems.join('\n'))
        .to.contain('notes.txt')
        .and.contain('run_backup')
        .and.contain('no events.jsonl');
    }
    expect(existsSync(join(runs, 'notes.txt'))).to.equal(true);
    rmSync(join(runs, 'notes.txt'));
    await until('the next look', async () => (await state.open().list({ limit: 10 })).problems.length === 4);
  });

  for (const [what, spoil] of [
    ['missing', (path: string) => rmSync(path)],
    [
      'no database',
      (path: string) => writeFileSync(path, 'not a database, but long enough to be read as one'.repeat(100)),
    ],
    ['empty', (path: string) => truncateSync(path, 0)],
  ] as const) {
    it(`rebuilds the index if it is ${what}`, async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      store.close();
      spoil(join(state.stateDir, 'index.sqlite'));
      const again = state.open();
      expect((await again.list({ limit: 10 })).runs[0]?.status).to.equal('awaiting_approval');
      expect((await again.append(run_id, () => [turn()])).head.seq).to.equal(8);
    });
  }

  it('notices an index that was deleted while it is open', async () => {
    const { run_id } = await store.create(sampleRequest());
    const other = state.open();
    await other.list({ limit: 1 });
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(state.stateDir, `index.sqlite${suffix}`), { force: true });
    await store.append(run_id, () => [turn()]);
    await other.append(run_id, () => [turn()]);
    expect((await store.list({ limit: 10 })).runs).to.have.length(1);
    expect(
      (await store.verify(run_id)).problems.filter(({ where }) => where.startsWith('events')),
    ).to.deep.equal([]);
    expect((await store.read(run_id)).head.seq).to.equal(3);
  });

  it('refuses a run whose log was replaced by an older one, or removed by hand', async () => {
    const { run_id } = await store.create(sampleRequest());
    const backup = readFileSync(logOf(run_id));
    await store.append(run_id, () => planned(run_id));
    expect((await store.list({ limit: 10 })).runs[0]?.status).to.equal('awaiting_approval');
    rmSync(logOf(run_id));
    writeFileSync(logOf(run_id), backup, { mode: 0o600 });
    expect(codeOf(await failure(store.read(run_id)))).to.equal('record_cut');
    expect(codeOf(await failure(store.restore(run_id)))).to.equal('record_whole');
    const replaced = await state.open().list({ limit: 10 });
    expect(replaced.runs).to.deep.equal([]);
    expect(replaced.problems.join()).to.contain('events 2 to 7').and.contain(run_id);
    rmSync(join(state.stateDir, 'runs', run_id), { recursive: true });
    expect(codeOf(await failure(store.read(run_id)))).to.equal('record_cut');
    const removed = await state.open().list({ limit: 10 });
    expect(removed.runs).to.deep.equal([]);
    expect(removed.problems.join()).to.contain('events.jsonl is gone');
    expect(await store.resolve(run_id.slice(0, 20))).to.equal(run_id);
    expect((await store.verify(run_id)).problems.map(({ where }) => where)).to.deep.equal([
      `heads/${run_id}`,
    ]);
  });

  it('shows that the executor died, at once', async () => {
    const { run_id } = await store.create(sampleRequest());
    const script = `
      import { FileRunStore } from ${JSON.stringify(fileURLToPath(new URL('../../services/agentd/runs/file-run-store.ts', import.meta.url)))};
      const store = new FileRunStore({ stateDir: ${JSON.stringify(state.stateDir)} });
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

  it('writes nothing by halves when the disk is full, and goes on when there is room', async () => {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => [turn()]);
    const before = readFileSync(logOf(run_id));
    // The limit on the size of a file stands for a full disk: the write is cut short, and the next one fails.
    const writer = startWriter(run_id, 1, 1, 400_000, {}, 'ulimit -f 300;');
    expect(await writer.output).to.equal('disk_full\n');
    expect(readFileSync(logOf(run_id))).to.deep.equal(before);
    expect((await store.append(run_id, () => [turn()])).head.seq).to.equal(3);
  });

  it('names the state folder that it may not write', async () => {
    if (process.getuid?.() === 0) return asNobody(state.stateDir);
    chmodSync(state.stateDir, 0o500);
    const error = await failure(store.create(sampleRequest()));
    chmodSync(state.stateDir, 0o700);
    expect(codeOf(error)).to.equal('state_not_writable');
    expect(String(error)).to.contain(state.stateDir);
  });

  it('reports a state folder that is a file', async () => {
    const path = join(state.stateDir, 'file');
    writeFileSync(path, '');
    const error = await failure(new FileRunStore({ stateDir: path }).create(sampleRequest()));
    expect(codeOf(error)).to.equal('state_not_writable');
    expect(String(error)).to.contain(path);
  });

  it('keeps many runs open at once without keeping their files open', async () => {
    for (let number = 1; number <= 80; number++) {
      const { run_id } = await store.create(sampleRequest({ number }));
      await store.append(run_id, () => [turn()]);
    }
    if (process.platform === 'linux') {
      expect(readdirSync('/proc/self/fd').length).to.be.lessThan(150);
    }
    expect((await store.list({ limit: 100 })).runs).to.have.length(80);
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

/** The superuser may write everywhere, so another user has to try. */
async function asNobody(stateDir: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      tryToCreate(join(stateDir, 'inner')),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(child, 'close');
  expect(text).to.contain('state_not_writable').and.contain(join(stateDir, 'inner'));
}

/** Modules are loaded before the rights are given up: the sources may be out of the other user's reach. */
function tryToCreate(stateDir: string): string {
  const runs = new URL('../../services/agentd/runs/', import.meta.url);
  return `
    const { FileRunStore } = await import(${JSON.stringify(new URL('file-run-store.ts', runs).href)});
    await new FileRunStore({ stateDir: ${JSON.stringify(temporaryFolder())} }).create(${JSON.stringify(sampleRequest())});
    process.setgid(65534);
    process.setuid(65534);
    const store = new FileRunStore({ stateDir: ${JSON.stringify(stateDir)} });
    await store.create(${JSON.stringify(sampleRequest())}).catch((error) => console.log(error.code, error.message));`;
}
