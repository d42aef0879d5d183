import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { announceService } from '#kit/config/running-service.ts';
import { type PostgresSettings, readPostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { type CoreError, codeOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { openRegistry } from '#kit/tokens/open-registry.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { executorLease } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { type MoveRequest, migrateStorage } from '../../services/supervisor/storage/migrate-storage.ts';
import { eventOf } from '../contract/bridge-queue.contract.ts';
import { everything, spentBy, testCall, testPrices, token } from '../contract/model-ledger.scene.ts';
import { sampleRequest } from '../contract/run-store.sample.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { failure } from '../fixtures/failure.ts';
import { ledgerInDatabase, ledgerInFile } from '../fixtures/gateway/ledger-stores.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { tamper } from '../fixtures/runs/tamper.ts';
import { type Installation, makeInstallation, storedIn } from '../fixtures/storage/installation.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { smallDisk } from '../fixtures/world/own-mounts.ts';
import { describeWith, itWith } from '../needs.ts';

const points = ['storage.begun', 'storage.copied', 'storage.compared', 'storage.source_left'];
const switchPoints = ['storage.target_in_use', 'config.checked', 'storage.switched'];
const toPostgresPoints = [...points, 'storage.rows_written:3', ...switchPoints];
const toFilesPoints = [...points, 'storage.rows_written:3', ...switchPoints];

/** What differs, one by one: the whole is too long to read. */
function expectStored(folders: Pick<Folders, 'state' | 'config'>, expected: Record<string, unknown>): void {
  const found = storedIn(folders);
  for (const name of new Set([...Object.keys(found), ...Object.keys(expected)]))
    expect(found[name], name).to.deep.equal(expected[name]);
}

describeWith(['postgres'], 'a move of the storage', () => {
  let server: PostgresServer;
  let settings: PostgresSettings;
  let installation: Installation;
  let original: Record<string, unknown>;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  beforeEach(async () => {
    settings = await server.database();
    installation = await makeInstallation(settings);
    original = storedIn(installation.folders);
  });

  function move(to: 'files' | 'postgres', more: Partial<MoveRequest> = {}) {
    const { folders } = installation;
    const { signal } = new AbortController();
    const progress = { begin() {}, add() {}, end() {} };
    return migrateStorage({ folders, to, given: {}, progress, signal, confirm: async () => {}, ...more });
  }

  const typed = (to: string, env: Record<string, string> = {}) =>
    ended(core, ['storage', 'migrate', '--to', to, '--yes', '--home', installation.home], env);

  const refusal = async (work: Promise<unknown>): Promise<CoreError> => (await failure(work)) as CoreError;

  async function databaseCode(): Promise<string> {
    const database = openPostgres(settings, 'core-test', { schema: agentdSchema });
    try {
      await database.query('SELECT 1');
      return 'none';
    } catch (error) {
      return codeOf(error);
    } finally {
      await database.close();
    }
  }

  /** The error of a service that opens the files. */
  function filesCode(): string {
    writeFileSync(join(installation.home, 'core.json'), JSON.stringify({ storage: { kind: 'files' } }));
    try {
      readPostgresSettings({ config: installation.home, state: installation.folders.state });
      return 'none';
    } catch (error) {
      return codeOf(error);
    }
  }

  it('there and back is the identity, and what was left is refused', async () => {
    const { folders, runs } = installation;
    const there = await move('postgres');
    expect(there.parts.map(({ name, entries }) => `${entries} ${name}`)).to.deep.equal([
      ...['6 tokens', '36 runs and notifications'],
      ...['12 rows of the ledger', '8 rows of the queue'],
    ]);
    expect(readPostgresSettings(folders)?.url).to.equal(settings.url);
    expect([filesCode(), await databaseCode()]).to.deep.equal(['storage_moved', 'none']);
    const store = new DatabaseRunStore({
      stateDir: folders.state,
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
    });
    const files = runStoreIn(folders.state);
    for (const run of runs.slice(1)) {
      expect(await store.read(run)).to.deep.equal(await files.read(run));
      expect(await store.verify(run)).to.deep.equal(await files.verify(run));
    }
    expect(codeOf(await failure(store.read(runs[0]!)))).to.equal('run_pruned');
    expect(await store.list({ limit: 10 })).to.deep.equal(await files.list({ limit: 10 }));
    await Promise.all([store.close(), files.close()]);

    const back = await move('files');
    const shaOf = ({ parts }: typeof there) => parts.map(({ name, sha256: sha }) => [name, sha]);
    expect(shaOf(back)).to.deep.equal(shaOf(there));
    expectStored(folders, original);
    expect(readPostgresSettings(folders)).to.equal(null);
    expect([filesCode(), await databaseCode()]).to.deep.equal(['none', 'storage_moved']);
    const write = server.ask(settings, 'DELETE FROM run_events');
    expect(String(await failure(write))).to.include(`what was in it moved to `);

    await move('postgres');
    await move('files');
    expectStored(folders, original);
  });

  it('brings back what was made in the database', async () => {
    const { folders } = installation;
    await move('postgres');
    const store = new DatabaseRunStore({
      stateDir: join(installation.home, 'other-host'),
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
    });
    const { run_id } = await store.create(sampleRequest(), 'a task');
    await store.close();
    const ledger = new Ledger(ledgerInDatabase(settings), { prices: testPrices, dayBudget: null });
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(7), upstream: 'first' });
    await ledger.reserve(token, testCall);
    const used = await ledger.usage(everything);
    await ledger.close();
    const queue = storageIn(settings);
    await queue.events.accept(eventOf(9), 0);
    await queue.eventJobs.take(60_000, { event_id: 'e9' }, true);
    await queue.close();
    const registry = await openRegistry(folders);
    await registry.create({ name: 'later', scopes: ['read'] });
    await registry.revoke('ci');
    await registry.close();

    await move('files');
    const files = runStoreIn(folders.state);
    expect((await files.read(run_id)).run_id).to.equal(run_id);
    expect((await files.verify(run_id)).problems).to.deep.equal([]);
    await files.close();
    const after = storedIn(folders);
    const rows = (name: string) => (after[name] as string[]).map((row) => JSON.parse(row));
    expect(
      rows('bridge/queue.sqlite bridge_events').map(({ event_id, state }) => `${event_id} ${state}`),
    ).to.include('e9 processing');
    expect(String(after.registry)).to.include('"later"');
    expect(rows('model-gateway/ledger.sqlite gateway_calls')).to.have.length(6);
    const again = new Ledger(await ledgerInFile(folders.state), { prices: testPrices, dayBudget: null });
    const [now] = await again.usage(everything);
    expect(now).to.deep.include({ calls: used[0]!.calls + 1, unsettled: used[0]!.unsettled + 1 });
    await again.close();
    await move('postgres');
    await move('files');
    expectStored(folders, after);
  });

  for (const point of toPostgresPoints)
    it(`to a database goes on after a kill at ${point}, and no side is lost or used beside the other`, async () => {
      const killed = await typed('postgres', { CORE_CRASH_AT: point });
      expect(killed.signal, killed.stderr).to.equal('SIGKILL');
      const left = !['none'].includes(filesCode());
      const inUse = (await databaseCode()) === 'none';
      expect(left || !inUse, 'both are in use').to.equal(true);
      expect(left).to.equal(['storage.source_left', ...switchPoints].includes(point));
      const done = await typed('postgres');
      if (point !== 'storage.switched') expect(done.code, done.stderr).to.equal(0);
      else expect(done.stderr).to.include('[storage_already]');
      expect(await databaseCode()).to.equal('none');
      await move('files');
      expectStored(installation.folders, original);
    });

  for (const point of toFilesPoints)
    it(`to files goes on after a kill at ${point}, and no side is lost or used beside the other`, async () => {
      await move('postgres');
      const killed = await typed('files', { CORE_CRASH_AT: point });
      expect(killed.signal, killed.stderr).to.equal('SIGKILL');
      const database = await databaseCode();
      expect(database).to.equal(
        ['storage.source_left', ...switchPoints].includes(point) ? 'storage_moved' : 'none',
      );
      if (database === 'none') expect(filesCode()).to.equal('storage_moved');
      const done = await typed('files');
      if (point !== 'storage.switched') expect(done.code, done.stderr).to.equal(0);
      else expect(done.stderr).to.include('[storage_already]');
      expectStored(installation.folders, original);
      expect([filesCode(), await databaseCode()]).to.deep.equal(['none', 'storage_moved']);
    });

  it('that was cut off leaves files in use, and takes what was written to them since', async () => {
    await typed('postgres', { CORE_CRASH_AT: 'storage.compared' });
    const files = runStoreIn(installation.folders.state);
    const { run_id } = await files.create(sampleRequest());
    await files.putArtifact(installation.runs[1]!, 'added since');
    await files.writeViews(run_id);
    await files.close();
    const ledger = new Ledger(await ledgerInFile(installation.folders.state), {
      prices: testPrices,
      dayBudget: null,
    });
    (await ledger.reserve(token, testCall)).settle({ ...spentBy(7), upstream: 'first' });
    await ledger.close();
    const now = storedIn(installation.folders);
    await move('postgres');
    await move('files');
    expectStored(installation.folders, now);
  });

  it('counts calls that a crash cut off', async () => {
    const { state } = installation.folders;
    const cut = new Ledger(await ledgerInFile(state), { prices: testPrices, dayBudget: null });
    await cut.reserve(token, testCall);
    await cut.close();
    await move('postgres');
    const gateway = new Ledger(ledgerInDatabase(settings), { prices: testPrices, dayBudget: null });
    expect((await gateway.usage(everything))[0]).to.deep.include({ calls: 5, unsettled: 2 });
    await gateway.close();
    await move('files');
  });

  it('is refused while a service runs here or somebody works on a run, and names who', async () => {
    const { folders, runs } = installation;
    const service = announceService('core-agentd', folders, {
      url: 'http://127.0.0.1:7817',
      host: '127.0.0.1',
      port: 7817,
    });
    expect(await refusal(move('postgres'))).to.include({ code: 'storage_in_use' });
    service.withdraw();
    const files = runStoreIn(folders.state);
    const lease = await files.lease(executorLease(runs[1]!));
    expect((await refusal(move('postgres'))).message).to.include(
      `run ${runs[1]} is held by process ${process.pid}`,
    );
    await lease.release();
    await files.close();
    const gateway = await ledgerInFile(folders.state);
    expect(await refusal(move('postgres'))).to.include({ code: 'ledger_held' });
    await gateway.close();
    await move('postgres');
    const bridge = openPostgres(settings, 'core-bridge');
    await bridge.query('SELECT 1');
    expect((await refusal(move('files'))).message).to.include('is in use: core-bridge');
    await bridge.close();
    await move('files');
    expectStored(folders, original);
  });

  it('is refused beside another one, of the same folder and of another host', async () => {
    const other = await makeInstallation(settings);
    const seen: string[] = [];
    await move('postgres', {
      async confirm() {
        seen.push((await refusal(move('postgres'))).code);
        seen.push((await refusal(move('postgres', { folders: other.folders }))).code);
      },
    });
    expect(seen).to.deep.equal(['storage_move_held', 'storage_move_held']);
    const late = await refusal(move('postgres', { folders: other.folders }));
    expect(late).to.include({ code: 'storage_target_not_empty' });
    expect(late.message).to.include(`:${installation.folders.state}: `);
    expect(late.message).to.include('4 rows in runs');
  });

  it('is refused into what holds other records, and changes neither', async () => {
    await move('postgres');
    const other = await makeInstallation(settings);
    const config = join(other.folders.config, 'core.json');
    writeFileSync(config, readFileSync(join(installation.folders.config, 'core.json')));
    const foreign = storedIn(other.folders);
    const error = await refusal(move('files', { folders: other.folders }));
    expect(error.code).to.equal('storage_target_not_empty');
    expect(error.message).to.include('8 rows of the queue in ');
    expectStored(other.folders, foreign);
    expect(await databaseCode()).to.equal('none');
  });

  it('goes on where the database was lost in the middle', async () => {
    let added = 0;
    const progress = {
      begin() {},
      add() {
        if (++added === 4) throw new Error('stop');
      },
      end() {},
    };
    await failure(move('postgres', { progress }));
    await server.crash();
    const { code } = await refusal(move('postgres'));
    await server.restart();
    expect([code, filesCode()]).to.deep.equal(['database_unavailable', 'none']);
    await move('postgres');
    let gone: Promise<void> | null = null;
    const crashing = {
      begin() {},
      add() {
        gone ??= server.crash();
      },
      end() {},
    };
    const lost = await refusal(move('files', { progress: crashing }));
    await gone;
    await server.restart();
    expect(lost.code).to.equal('database_unavailable');
    expect([filesCode(), await databaseCode()]).to.deep.equal(['storage_moved', 'none']);
    await move('files');
    expectStored(installation.folders, original);
  });

  itWith(['mounts'], 'goes on where the disk was full in the middle', async () => {
    await move('postgres');
    const disk = await smallDisk(installation.home, 16);
    try {
      const files = ['storage', 'migrate', '--to', 'files', '--yes'];
      disk.fill(8 * 1024);
      const full = await disk.command([...files, '--json']);
      expect(JSON.parse(full.stderr).error.code, full.stderr).to.equal('disk_full');
      expect(await databaseCode()).to.equal('none');
      disk.free();
      const done = await disk.command(files);
      expect(done.code, done.stderr).to.equal(0);
      expectStored({ state: disk.state, config: installation.folders.config }, original);
    } finally {
      disk.close();
    }
  });

  it('is refused with a wrong password, without a database, and where there is nothing to move', async () => {
    writeFileSync(settings.password_file!, 'wrong');
    expect((await refusal(move('postgres'))).code).to.equal('database_refused');
    expect((await refusal(move('files'))).code).to.equal('storage_already');
    const without = await makeInstallation(null);
    expect((await refusal(move('postgres', { folders: without.folders }))).code).to.equal('invalid_option');
    expect(existsSync(join(without.folders.state, 'storage.json'))).to.equal(false);
    expectStored(installation.folders, original);
  });

  it('is refused while a run is not whole, and names it', async () => {
    const run = installation.runs[2]!;
    tamper(installation.folders.state, 'DELETE FROM run_events WHERE run_id = ? AND seq > 7', run);
    const error = await refusal(move('postgres'));
    expect(error.code).to.equal('run_not_whole');
    expect(error.message).to.include(run).and.to.include('was acknowledged');
  });

  it('says what it moves, and asks before', async () => {
    const args = ['storage', 'migrate', '--to', 'postgres', '--home', installation.home];
    const asked = await ended(core, args);
    expect([asked.code, asked.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 2 && text.includes('[no_terminal]'),
    );
    const done = await typed('postgres');
    expect(done.code, done.stderr).to.equal(0);
    expect(done.stdout).to.match(
      /^From .*state\nto {3}postgres:.*\n {3}6 {2}tokens\n {2}36 {2}runs and notifications\n/,
    );
    expect(done.stdout).to.match(/Moved and compared.*\n {3}6 {2}tokens +sha256 [0-9a-f]{12}\n/);
    const again = await typed('postgres');
    expect(again.stderr).to.include('core.json says postgres already: there is nothing to move');
  });

  it('brings files from a database that a service never used, and so has no tables of it', async () => {
    await move('postgres');
    for (const table of ['keys', 'balances', 'calls', 'totals'])
      await server.ask(settings, `DROP TABLE gateway_${table}`);
    await server.ask(settings, "DELETE FROM core_schemas WHERE service = 'ledger'");
    const names = (await move('files')).parts.map(({ name }) => name);
    expect(names).to.include('runs and notifications').and.not.include('rows of the ledger');
  });

  it('guards every table that there is', async () => {
    await move('postgres');
    await move('files');
    const tables = await server.ask<{ tablename: string }>(
      settings,
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('core_migrations', 'core_schemas', 'storage_state')",
    );
    const guarded = await server.ask<{ name: string }>(
      settings,
      "SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'core_moved'",
    );
    expect(guarded.map(({ name }) => name).sort()).to.deep.equal(
      tables.map(({ tablename }) => tablename).sort(),
    );
  });
});
