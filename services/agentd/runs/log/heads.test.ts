import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { codeOf } from '#kit/errors.ts';
import { decided, planned, sampleRequest, turn } from '../../../../test/contract/run-store.sample.ts';
import { failure } from '../../../../test/fixtures/failure.ts';
import type { NewEvent } from '../event.ts';
import { FileRunStore } from '../file-run-store.ts';
import { beforeFirst } from './event-line.ts';
import { writeLines } from './event-log.ts';
import { logName, tombstoneName } from './run-folder.ts';

const by = { name: 'mira', scopes: ['admin'] };

describe('the head of a record, kept outside its folder', () => {
  let stateDir: string;
  const stores: FileRunStore[] = [];

  const open = (): FileRunStore => {
    const store = new FileRunStore({ stateDir });
    stores.push(store);
    return store;
  };
  const folderOf = (runId: string): string => join(stateDir, 'runs', runId);
  const logOf = (runId: string): string => join(folderOf(runId), logName);
  const headOf = (runId: string): string => join(stateDir, 'heads', runId);
  const linesOf = (runId: string): string[] => readFileSync(logOf(runId), 'utf8').split(/(?<=\n)/);
  const problemsOf = async (runId: string): Promise<string> =>
    (await open().verify(runId)).problems.map(({ where, what }) => `${where}: ${what}`).join('\n');

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'core-heads-'));
  });

  afterEach(() => {
    for (const store of stores.splice(0)) store.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  /** A run with everything approved and the push rejected afterwards, and a store that has read it. */
  async function rejectedRun(): Promise<{ runId: string; store: FileRunStore }> {
    const store = open();
    const { run_id } = await store.create(sampleRequest());
    await store.putArtifact(run_id, 'content');
    await store.putArtifact(run_id, 'one');
    await store.append(run_id, () => planned(run_id));
    await store.append(run_id, ({ actions }) => actions.map(({ definition }) => decided(definition)));
    await store.append(run_id, ({ actions }) => [decided(actions[0]!.definition, 'reject')]);
    expect(await problemsOf(run_id)).to.equal('');
    return { runId: run_id, store };
  }

  const damages: Readonly<Record<string, (runId: string) => void>> = {
    'lost its last line': (runId) => writeFileSync(logOf(runId), linesOf(runId).slice(0, -1).join('')),
    'lost its last two lines': (runId) => writeFileSync(logOf(runId), linesOf(runId).slice(0, -2).join('')),
    'lost a part of its last line': (runId) =>
      truncateSync(logOf(runId), readFileSync(logOf(runId)).length - 9),
    'ends with NULs in place of its last line': (runId) => {
      const lines = linesOf(runId);
      const last = Buffer.alloc(Buffer.byteLength(lines.at(-1)!));
      writeFileSync(logOf(runId), Buffer.concat([Buffer.from(lines.slice(0, -1).join('')), last]));
    },
    'has one event alone': (runId) => writeFileSync(logOf(runId), linesOf(runId)[0]!),
    'is another one that holds in itself': (runId) => {
      const head_kept = true as const;
      const created: NewEvent = { type: 'run_created', data: { request: sampleRequest(), head_kept } };
      const events = [created, ...planned(runId), ...Array.from({ length: 20 }, () => turn())];
      writeFileSync(logOf(runId), writeLines(beforeFirst, '2026-01-02T03:04:05.000Z', events).text);
    },
    'was removed': (runId) => rmSync(logOf(runId)),
    'was removed with its folder': (runId) => rmSync(folderOf(runId), { recursive: true }),
    'was replaced by a tombstone': (runId) => {
      rmSync(logOf(runId));
      const tombstone = {
        ...{ run_id: runId, head: '0'.repeat(64), events: 7, status: 'completed' },
        ...{ pruned_at: '2026-01-02T03:04:05.000Z', forge: 'local', owner: 'demo', repo: 'hello', number: 1 },
      };
      writeFileSync(join(folderOf(runId), tombstoneName), JSON.stringify(tombstone));
    },
    'lost its head': (runId) => rmSync(headOf(runId)),
    'lost the heads of all runs': () => rmSync(join(stateDir, 'heads'), { recursive: true }),
    'has a head of NULs': (runId) => writeFileSync(headOf(runId), Buffer.alloc(512)),
    'has an empty head': (runId) => writeFileSync(headOf(runId), ''),
    'has the head of another run': (runId) =>
      writeFileSync(
        headOf(runId),
        readFileSync(headOf(runId), 'utf8').replaceAll(/run_0[0-9a-f]/g, 'run_00'),
      ),
  };

  for (const [damage, make] of Object.entries(damages)) {
    it(`refuses a record that ${damage}: it is not read, not continued, and does not verify`, async () => {
      const { runId, store } = await rejectedRun();
      make(runId);
      for (const one of [store, open()]) {
        expect(codeOf(await failure(one.read(runId)))).to.equal('record_cut');
        expect(codeOf(await failure(one.events(runId)))).to.equal('record_cut');
        expect(codeOf(await failure(one.append(runId, () => [turn()])))).to.equal('record_cut');
      }
      expect(await problemsOf(runId)).to.contain(`heads/${runId}`);
      expect((await open().record(runId)).problem).to.be.a('string');
    });
  }

  it('refuses a record that was edited in place while it was open', async () => {
    const { runId, store } = await rejectedRun();
    const { length } = readFileSync(logOf(runId));
    const fd = openSync(logOf(runId), 'r+');
    writeSync(fd, 'XXXX', Math.floor(length / 2));
    closeSync(fd);
    expect(codeOf(await failure(store.read(runId)))).to.equal('run_damaged');
    expect(codeOf(await failure(store.append(runId, () => [turn()])))).to.equal('run_damaged');
    expect(readFileSync(logOf(runId))).to.have.length(length);
  });

  it('refuses a record that lost a line in its middle', async () => {
    const { runId, store } = await rejectedRun();
    writeFileSync(logOf(runId), linesOf(runId).toSpliced(4, 1).join(''));
    expect(codeOf(await failure(store.append(runId, () => [turn()])))).to.equal('run_damaged');
    expect(await problemsOf(runId)).to.contain('line 5');
    expect((await store.record(runId)).kept?.seq).to.equal(4);
  });

  it('refuses an older copy of the whole folder, also after the index was deleted', async () => {
    const { runId, store } = await rejectedRun();
    const copy = join(stateDir, 'copy');
    cpSync(folderOf(runId), copy, { recursive: true });
    await store.append(runId, () => [turn()]);
    rmSync(folderOf(runId), { recursive: true });
    cpSync(copy, folderOf(runId), { recursive: true });
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(stateDir, `index.sqlite${suffix}`), { force: true });
    expect(codeOf(await failure(open().read(runId)))).to.equal('record_cut');
    const page = await open().list({ limit: 10 });
    expect(page.runs).to.deep.equal([]);
    expect(page.problems.join()).to.contain(runId);
  });

  it('holds again when what was missing is put back', async () => {
    const { runId, store } = await rejectedRun();
    const whole = readFileSync(logOf(runId));
    writeFileSync(logOf(runId), linesOf(runId).slice(0, 3).join(''));
    expect(codeOf(await failure(store.read(runId)))).to.equal('record_cut');
    writeFileSync(logOf(runId), whole);
    expect((await store.read(runId)).actions[0]?.approval).to.equal('rejected');
    expect(await problemsOf(runId)).to.equal('');
  });

  it('treats unacknowledged bytes as left by a crash', async () => {
    const { runId, store } = await rejectedRun();
    const { seq } = (await store.read(runId)).head;
    appendFileSync(logOf(runId), Buffer.alloc(300));
    expect((await open().read(runId)).head.seq).to.equal(seq);
    expect((await store.append(runId, () => [turn()])).head.seq).to.equal(seq + 2);
  });

  it('takes a head that a power cut took back for one behind its log, and goes on from the log', async () => {
    const { runId, store } = await rejectedRun();
    const before = (await store.read(runId)).head;
    const onDisk = readFileSync(headOf(runId));
    const last = (await store.append(runId, () => [turn()])).head;
    writeFileSync(headOf(runId), onDisk);
    expect((await open().read(runId)).head).to.deep.equal(last);
    expect(await problemsOf(runId)).not.to.contain(`heads/${runId}`);
    const whole = readFileSync(logOf(runId));
    writeFileSync(
      logOf(runId),
      linesOf(runId)
        .slice(0, before.seq - 1)
        .join(''),
    );
    expect(codeOf(await failure(open().read(runId)))).to.equal('record_cut');
    writeFileSync(logOf(runId), whole);
    await open().append(runId, () => [turn()]);
    writeFileSync(logOf(runId), whole);
    expect(codeOf(await failure(open().read(runId)))).to.equal('record_cut');
  });

  it('says in the record of a run of an older version from where on its head is kept', async () => {
    const store = open();
    const { run_id } = await store.create(sampleRequest());
    const created: NewEvent = {
      type: 'run_created',
      data: { request: sampleRequest(), head_kept: undefined },
    };
    const older = writeLines(beforeFirst, '2026-01-02T03:04:05.000Z', [created, turn()]);
    writeFileSync(logOf(run_id), older.text);
    rmSync(headOf(run_id));
    expect((await open().read(run_id)).head.seq).to.equal(2);
    await store.append(run_id, () => [turn()]);
    const adopted = (await store.events(run_id))[2]!;
    expect(adopted.type).to.equal('head_adopted');
    expect(adopted.data).to.deep.equal({ head: { seq: 2, hash: older.lines[1]!.hash } });
    expect((await store.append(run_id, () => [turn()])).head.seq).to.equal(5);
    rmSync(headOf(run_id));
    expect(codeOf(await failure(open().read(run_id)))).to.equal('record_cut');
  });

  it('lets a person go on with what is left, decides again, and says for ever what was lost', async () => {
    const { runId, store } = await rejectedRun();
    const lost = (await store.read(runId)).head;
    writeFileSync(logOf(runId), linesOf(runId).slice(0, -1).join(''));
    const record = await store.record(runId);
    expect(record.acknowledged).to.deep.equal(lost);
    expect(record.kept?.seq).to.equal(lost.seq - 1);
    expect(record.last_type).to.equal('approval_recorded');
    const run = await store.recover({ run_id: runId, by, reason: 'the disk was full' });
    expect(run.actions.map(({ approval }) => approval)).to.satisfy((all: string[]) =>
      all.every((one) => one === 'required'),
    );
    expect(run.recoveries).to.have.length(1);
    expect(run.recoveries[0]).to.deep.include({ by: 'mira', lost, kept: record.kept });
    await store.append(runId, () => [turn()]);
    expect(await problemsOf(runId))
      .to.contain('the record was cut')
      .and.contain('mira let it go on');
    expect(codeOf(await failure(store.recover({ run_id: runId, by, reason: 'again' })))).to.equal(
      'record_whole',
    );
    writeFileSync(logOf(runId), linesOf(runId).slice(0, -2).join(''));
    expect(codeOf(await failure(open().read(runId)))).to.equal('record_cut');
  });

  it('sets aside what stands behind the last sound event of a record that goes on', async () => {
    const { runId, store } = await rejectedRun();
    const lines = linesOf(runId);
    writeFileSync(logOf(runId), lines.toSpliced(4, 1).join(''));
    const run = await store.recover({ run_id: runId, by, reason: 'a line was deleted' });
    const { set_aside, kept } = run.recoveries[0]!;
    expect(kept.seq).to.equal(4);
    const bytes = Buffer.from(await store.artifact(runId, set_aside!.artifact)).toString();
    expect(bytes).to.equal(lines.slice(5).join(''));
    expect(await problemsOf(runId)).to.contain('the record was cut');
  });

  it('has nothing to go on from where the whole folder is gone', async () => {
    const { runId, store } = await rejectedRun();
    rmSync(folderOf(runId), { recursive: true });
    expect(codeOf(await failure(store.recover({ run_id: runId, by, reason: 'x' })))).to.equal('record_lost');
    expect((await store.record(runId)).kept).to.equal(null);
  });

  it('keeps the head of a pruned run, and finds a tombstone that was changed', async () => {
    const { run_id } = await open().create(sampleRequest());
    const store = open();
    await store.append(run_id, () => [{ type: 'run_cancelled', data: { message: 'over' } }]);
    const before = '2999-01-01T00:00:00.000Z';
    expect((await store.prune({ before, what: 'runs', dry_run: false })).runs).to.deep.equal([run_id]);
    expect(codeOf(await failure(open().read(run_id)))).to.equal('run_pruned');
    expect(codeOf(await failure(open().verify(run_id)))).to.equal('run_pruned');
    const path = join(folderOf(run_id), tombstoneName);
    const tombstone = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...tombstone, head: '1'.repeat(64) }));
    expect(codeOf(await failure(open().read(run_id)))).to.equal('record_cut');
    expect(await problemsOf(run_id)).to.contain('tombstone');
  });

  const ended = async (work: string, point: string): Promise<string> => {
    const module = fileURLToPath(new URL('../file-run-store.ts', import.meta.url));
    const script = `import { FileRunStore } from ${JSON.stringify(module)};
      const store = new FileRunStore({ stateDir: ${JSON.stringify(stateDir)} });
      await ${work};
      console.log('returned');
      setTimeout(() => {}, 60_000);`;
    const { signal, stdout } = await execa(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
      { env: { CORE_CRASH_AT: point }, reject: false },
    );
    expect(signal, point).to.equal('SIGKILL');
    return stdout;
  };

  it('says nothing of an append that was killed at events_durable, and all of one that was killed at head_written', async () => {
    const { runId } = await rejectedRun();
    const appending = `store.append(${JSON.stringify(runId)}, () => [${JSON.stringify(turn())}])`;
    for (const [point, known] of Object.entries({ events_durable: 0, head_written: 1 })) {
      const { seq } = (await open().read(runId)).head;
      expect(await ended(appending, point)).to.equal('');
      expect(JSON.parse(readFileSync(headOf(runId), 'utf8')).acknowledged.seq, point).to.equal(seq + known);
      const record = await open().record(runId);
      expect(record).to.deep.include({ problem: null });
      expect(record.kept?.seq, point).to.equal(seq + 1);
    }
    writeFileSync(logOf(runId), linesOf(runId).slice(0, -1).join(''));
    expect(codeOf(await failure(open().read(runId)))).to.equal('record_cut');
  });

  const looks: Readonly<Record<string, (store: FileRunStore, runId: string) => Promise<unknown>>> = {
    shown: (store, runId) => store.read(runId),
    'listed as an event': (store, runId) => store.events(runId),
    verified: (store, runId) => store.verify(runId),
    'looked at by recover': (store, runId) => store.record(runId),
  };
  for (const [seen, look] of Object.entries(looks)) {
    it(`misses an event of a killed process when it is gone, once it was ${seen}`, async () => {
      const { runId } = await rejectedRun();
      const rejecting = `store.append(${JSON.stringify(runId)}, () => [${JSON.stringify(turn())}])`;
      for (const point of ['events_written', 'events_durable']) {
        expect(await ended(rejecting, point)).to.equal('');
        await look(open(), runId);
        const whole = readFileSync(logOf(runId));
        writeFileSync(logOf(runId), linesOf(runId).slice(0, -1).join(''));
        expect(codeOf(await failure(open().read(runId))), point).to.equal('record_cut');
        expect(await problemsOf(runId), point).to.contain('acknowledged');
        writeFileSync(logOf(runId), whole);
      }
    });
  }

  it('is on the disk before a command or request ends, and soon after an append in the middle of one', async () => {
    const { runId, store } = await rejectedRun();
    store.close();
    const id = JSON.stringify(runId);
    const appending = `store.append(${id}, () => [${JSON.stringify(turn())}])`;
    expect(await ended(`${appending}.then(() => store.writeViews(${id}))`, 'head_durable')).to.equal('');
    expect(await ended(`${appending}.then(() => store.close())`, 'head_durable')).to.equal('');
    expect(await ended(appending, 'head_durable')).to.equal('returned');
  });

  it('leaves nothing of a run whose making was killed at head_created, and a whole one at run_named', async () => {
    const create = `store.create(${JSON.stringify(sampleRequest())})`;
    mkdirSync(join(stateDir, 'runs'), { recursive: true });
    await ended(create, 'head_created');
    expect(await open().list({ limit: 10 })).to.deep.include({ runs: [], problems: [] });
    await ended(create, 'run_named');
    const [run, ...others] = (await open().list({ limit: 10 })).runs;
    expect(others).to.deep.equal([]);
    expect(await problemsOf(run!.run_id)).to.equal('');
    await open().append(run!.run_id, () => [turn()]);
    writeFileSync(logOf(run!.run_id), linesOf(run!.run_id)[0]!);
    expect(codeOf(await failure(open().read(run!.run_id)))).to.equal('record_cut');
    expect(
      (await open().prune({ before: '2999-01-01T00:00:00.000Z', what: 'runs', dry_run: false })).kept,
    ).to.have.length(1);
  });

  it('prunes a run again whose pruning was killed at head_pruned', async () => {
    const { run_id } = await open().create(sampleRequest());
    await open().append(run_id, () => [{ type: 'run_cancelled', data: { message: 'over' } }]);
    const request = { before: '2999-01-01T00:00:00.000Z', what: 'runs' as const, dry_run: false };
    await ended(`store.prune(${JSON.stringify(request)})`, 'head_pruned');
    expect((await open().read(run_id)).status).to.equal('cancelled');
    expect((await open().prune(request)).runs).to.deep.equal([run_id]);
    expect(codeOf(await failure(open().read(run_id)))).to.equal('run_pruned');
  });
});
