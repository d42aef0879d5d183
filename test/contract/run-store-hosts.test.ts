import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { Sql } from '#kit/database/database.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { codeOf } from '#kit/errors.ts';
import { PermitEnded } from '#kit/permit.ts';
import {
  DatabaseRunStore,
  type DatabaseRunStoreOptions,
} from '../../services/agentd/runs/database-run-store.ts';
import { keyedRun } from '../../services/agentd/runs/keyed-runs.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { RunFolders } from '../../services/agentd/runs/run-folders.ts';
import { executorLease } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { startRunWriter } from '../fixtures/runs/run-writer.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { runStoreContract } from './run-store.contract.ts';
import { decided, executionStarted, planned, sampleRequest, turn } from './run-store.sample.ts';

const by = { name: 'mira', scopes: ['admin'] } as never;
const waitingForLock = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

describeWith(['postgres'], 'runs in PostgreSQL', () => {
  let server: PostgresServer;
  let hosts: ReturnType<typeof makeHosts>;

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  runStoreContract('PostgreSQL', async () => {
    const { host, end } = makeHosts(await server.database());
    const another = (): DatabaseRunStore => host().store;
    return { store: another(), another, end };
  });

  describe('on several hosts', () => {
    let settings: PostgresSettings;
    let store: DatabaseRunStore;
    let home: string;

    beforeEach(async () => {
      settings = await server.database();
      hosts = makeHosts(settings);
      ({ store, home } = hosts.host());
    });

    afterEach(() => hosts.end());

    const folderOf = (runId: string, at = home): string => join(at, 'state/runs', runId);

    /** Without the transcripts that the sample events name and nobody stored. */
    const soundProblems = async (runId: string) =>
      (await store.verify(runId)).problems.filter(({ where }) => !where.includes('artifacts/'));

    const inTransaction = async (work: (sql: Sql) => Promise<void>): Promise<void> => {
      const database = openPostgres(settings, 'core-test', { schema: agentdSchema });
      try {
        await database.transaction(work);
      } finally {
        await database.close();
      }
    };

    it('leaves on each host that worked on a run the folder that files would have', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.putArtifact(run_id, 'content');
      await store.append(run_id, () => planned(run_id));
      await store.writeViews(run_id);
      const before = filesIn(folderOf(run_id));
      expect([...before.keys()]).to.include.members(['events.jsonl', 'session.json', 'summary.md']);
      const folders = new RunFolders(join(home, 'state'));
      expect((await folders.verify(run_id)).problems.map(({ what }) => what)).to.deep.equal(
        (await store.verify(run_id)).problems
          .filter(({ where }) => where.startsWith('mirror'))
          .map(({ what }) => what),
      );
      expect(await folders.read(run_id)).to.deep.equal(await store.read(run_id));
      const second = hosts.host();
      expect(await second.store.mirror(run_id)).to.equal(folderOf(run_id, second.home));
      expect(filesIn(folderOf(run_id, second.home))).to.deep.equal(before);
      writeFileSync(join(folderOf(run_id), 'events.jsonl'), 'altered\n');
      writeFileSync(
        join(
          folderOf(run_id),
          'artifacts',
          [...before.keys()].find((name) => name.startsWith('artifacts/'))!.slice(10),
        ),
        'x',
      );
      expect((await store.verify(run_id)).problems.map(({ where }) => where).join()).to.contain(
        'mirror on this host: events.jsonl',
      );
      await store.mirror(run_id);
      expect(filesIn(folderOf(run_id))).to.deep.equal(before);
    });

    it('loses and repeats nothing when two processes append at once', async () => {
      const { run_id } = await store.create(sampleRequest());
      const second = hosts.host();
      const writers = [home, second.home].map((at) =>
        startRunWriter({ home: at, runId: run_id, events: 60 }),
      );
      const acknowledged = (await Promise.all(writers.map(({ ended }) => ended))).flat();
      expect(acknowledged.toSorted((a, b) => a - b)).to.deep.equal(
        Array.from({ length: 120 }, (_, index) => index + 2),
      );
      expect((await store.verify(run_id)).problems).to.deep.equal([]);
    });

    it('keeps every acknowledged event when the writer is killed at any moment', async () => {
      const { run_id } = await store.create(sampleRequest());
      for (let round = 0; round < 3; round++) {
        const { child, ended } = startRunWriter({
          home,
          runId: run_id,
          events: 100_000,
          batch: 3,
          size: 20_000,
        });
        await once(child.stdout!, 'data');
        await new Promise((resolve) => setTimeout(resolve, round * 20));
        child.kill('SIGKILL');
        const last = (await ended).at(-1)!;
        expect((await store.events(run_id)).length).to.be.at.least(last);
        await store.append(run_id, () => [turn()]);
        expect(await soundProblems(run_id)).to.deep.equal([]);
      }
    });

    for (const [point, seq] of [
      ['events_decided', 1],
      ['events_committed', 2],
    ] as const) {
      it(`has all of an append or nothing after a crash at ${point}`, async () => {
        const { run_id } = await store.create(sampleRequest());
        await startRunWriter({ home, runId: run_id, variables: { CORE_CRASH_AT: point } }).ended;
        expect((await store.read(run_id)).head.seq).to.equal(seq);
        expect((await store.append(run_id, () => [turn()])).head.seq).to.equal(seq + 1);
        expect(await soundProblems(run_id)).to.deep.equal([]);
      });
    }

    for (const [point, count] of [
      ['run_sent', 0],
      ['run_committed', 1],
    ] as const) {
      it(`has all of a new run or nothing after a crash at ${point}`, async () => {
        await startRunWriter({ home, runId: 'new', variables: { CORE_CRASH_AT: point } }).ended;
        expect(await store.count()).to.equal(count);
        const { runs } = await store.list({ limit: 10 });
        for (const { run_id } of runs) expect((await store.verify(run_id)).problems).to.deep.equal([]);
      });
    }

    it('lets an executor that lost its lease append nothing', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const lease = await store.lease(executorLease(run_id));
      await store.append(run_id, () => [executionStarted()]);
      await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
      const other = hosts.host().store;
      expect((await other.read(run_id)).status).to.equal('interrupted');
      const taken = await other.lease(executorLease(run_id));
      expect(codeOf(await failure(store.append(run_id, () => [turn()])))).to.equal('lease_lost');
      expect(lease.lost.aborted).to.equal(true);
      expect((await other.append(run_id, () => [turn()])).status).to.equal('executing');
      await lease.release();
      expect((await store.append(run_id, () => [turn()])).status).to.equal('executing');
      await taken.release();
    });

    it('decides on the newest state, whatever this host saw last', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const other = hosts.host().store;
      const { head } = await other.append(run_id, ({ actions }) => [decided(actions[0]!.definition)]);
      const decidedOn: number[] = [];
      const run = await store.append(run_id, (now) => {
        decidedOn.push(now.head.seq);
        return [turn()];
      });
      expect(decidedOn).to.deep.equal([head.seq]);
      expect(run.head.seq).to.equal(head.seq + 1);
      expect(run.actions[0]?.approval).to.equal('approved');
      await store.append(run_id, () => [turn()]);
      const refused = other.append(run_id, (now) => {
        throw new Error(`refused after event ${now.head.seq}`);
      });
      expect(((await failure(refused)) as Error).message).to.equal(`refused after event ${head.seq + 2}`);
      await store.append(run_id, () => [turn()]);
      expect((await other.append(run_id, () => [])).head.seq).to.equal(head.seq + 3);
    });

    it('says that a lease was lost before it refuses what its holder would write', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const lease = await store.lease(executorLease(run_id));
      await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
      const taken = await hosts.host().store.lease(executorLease(run_id));
      const refused = store.append(run_id, () => {
        throw new Error('refused');
      });
      expect(codeOf(await failure(refused))).to.equal('lease_lost');
      await lease.release();
      await taken.release();
    });

    it('appends nothing under a lease that is taken over while the append waits', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const lease = await store.lease(executorLease(run_id));
      await store.append(run_id, () => [executionStarted()]);
      let appending: Promise<unknown> = Promise.resolve();
      await inTransaction(async (sql) => {
        await sql.query('UPDATE leases SET token = gen_random_uuid()::text WHERE name = $1', [
          executorLease(run_id),
        ]);
        appending = failure(store.append(run_id, () => [turn()]));
        await until('the append to wait', async () => {
          return (await server.ask(settings, waitingForLock)).length > 0;
        });
      });
      expect(codeOf(await appending)).to.equal('lease_lost');
      expect((await store.events(run_id)).at(-1)?.type).to.equal('execution_started');
      await lease.release();
    });

    it('gives no leave to have an effect once a lease is lost', async () => {
      const lease = await store.lease('branch x');
      const permit = await lease.permit();
      permit.require();
      await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
      // Nobody has taken it.
      (await lease.permit()).require();
      await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
      const taken = await hosts.host().store.lease('branch x');
      expect(codeOf(await failure(lease.permit()))).to.equal('lease_lost');
      expect(lease.lost.aborted).to.equal(true);
      expect(permit.require).to.throw(Error, 'branch x was lost to another process');
      await lease.release();
      (await taken.permit()).require();
      await taken.release();
      expect(codeOf(await failure(taken.permit()))).to.equal('lease_lost');
    });

    it('takes leave back from a process that stood still, until it has asked for its lease again', async () => {
      const host = hosts.host(settings, { leaseMs: 500 }).store;
      const lease = await host.lease('branch x');
      const permit = await lease.permit();
      permit.require();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
      expect(permit.require).to.throw(PermitEnded);
      (await lease.permit()).require();
      await lease.release();
    });

    it('knows whether its events are there where the answer to a commit was lost', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const proxy = await startCuttingProxy(settings);
      const cut = hosts.host(proxy.settings).store;
      await cut.read(run_id);
      proxy.cutAfter('COMMIT');
      expect((await cut.append(run_id, () => [turn()])).head.seq).to.equal(8);
      proxy.cutBefore('COMMIT');
      const appending = cut.append(run_id, () => [turn()]);
      await until(
        'the append to wait for its own',
        async () => (await server.ask(settings, waitingForLock)).length === 1,
      );
      await proxy.sendLate();
      expect((await appending).head.seq).to.equal(9);
      expect((await store.events(run_id)).map(({ seq }) => seq)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      // With all other connections, as when the server starts again.
      proxy.cutAfter('COMMIT', 1_000);
      expect((await cut.append(run_id, () => [turn()])).head.seq).to.equal(10);
      expect(await store.events(run_id)).to.have.length(10);
      await proxy.close();
    });

    it('appends once if a commit never arrives, after the server has given up its transaction', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      const proxy = await startCuttingProxy({ ...settings, statement_seconds: 1 });
      const cut = hosts.host(proxy.settings).store;
      await cut.read(run_id);
      proxy.cutBefore('COMMIT');
      expect((await cut.append(run_id, () => [turn()])).head.seq).to.equal(8);
      await proxy.sendLate();
      expect((await store.events(run_id)).map(({ seq }) => seq)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
      await proxy.close();
    });

    it('makes one run of a key, also where a host stood still for longer than its lease lasts', async () => {
      const wanted = sampleRequest({ idempotency_key: 'event 1' });
      const asked = { owner: 'demo', repo: 'hello', number: 1, by, idempotency_key: 'event 1' };
      const work = { resolve: async () => wanted, mayCreate() {} };
      const [still, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const standing: Pick<DatabaseRunStore, 'begin' | 'withKey'> = {
        withKey: (key) => store.withKey(key),
        async begin(...given) {
          still.resolve();
          await goOn.promise;
          return store.begin(...given);
        },
      };
      const slow = keyedRun(standing, asked, work);
      await still.promise;
      await server.ask(settings, 'UPDATE leases SET expires_at = core_clock_ms() - 1000');
      const fast = await keyedRun(hosts.host().store, asked, work);
      goOn.resolve();
      const { run, created } = await slow;
      expect([fast.created, created, run.run_id]).to.deep.equal([true, false, fast.run.run_id]);
      expect((await store.list({ limit: 2 })).runs).to.have.length(1);
    });

    it('makes a run once, and says so, where its commit came late', async () => {
      const proxy = await startCuttingProxy(settings);
      const cut = hosts.host(proxy.settings).store;
      expect(await cut.count()).to.equal(0);
      proxy.cutBefore('COMMIT');
      const creating = cut.create(sampleRequest());
      await Promise.race([
        creating,
        until(
          'the run to be made again',
          async () => (await server.ask(settings, waitingForLock)).length === 1,
        ),
      ]);
      await proxy.sendLate();
      const { run_id } = await creating;
      expect((await store.list({ limit: 2 })).runs.map((run) => run.run_id)).to.deep.equal([run_id]);
      expect(await store.events(run_id)).to.have.length(1);
      await proxy.close();
    });

    it('puts nothing back of a run that another host pruned', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      await store.writeViews(run_id);
      await store.append(run_id, () => [{ type: 'run_cancelled', data: { by: 'mira', message: 'no' } }]);
      await store.writeViews(run_id);
      const before = new Date(Date.now() + 1_000).toISOString();
      const pruned = await hosts.host().store.prune({ before, what: 'runs', dry_run: false });
      expect(pruned.runs).to.deep.equal([run_id]);
      expect(codeOf(await failure(store.restore(run_id)))).to.equal('run_pruned');
      expect(await server.ask(settings, 'SELECT 1 FROM run_events')).to.have.length(0);
    });

    it('does not do later what it gave up, because somebody held the run', async () => {
      const { run_id } = await store.create(sampleRequest());
      const { head } = await store.append(run_id, () => planned(run_id));
      const host = hosts.host({ ...settings, statement_seconds: 1 }).store;
      await host.read(run_id);
      await inTransaction(async (sql) => {
        await sql.query('SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE', [run_id]);
        expect(codeOf(await failure(host.append(run_id, () => [turn()])))).to.equal('database_unavailable');
      });
      const busy =
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'UPDATE runs SET%' AND state = 'active' AND pid <> pg_backend_pid()";
      await until('nobody to wait', async () => (await server.ask(settings, busy)).length === 0);
      expect((await store.read(run_id)).head).to.deep.equal(head);
      expect((await host.append(run_id, () => [turn()])).head.seq).to.equal(head.seq + 1);
    });

    it('keeps what another host appends while a cut record is recovered', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      await server.ask(settings, 'DELETE FROM run_events WHERE run_id = $1 AND seq = 7', [run_id]);
      let recovering: Promise<Run> | undefined;
      let appending: Promise<Run> | undefined;
      await inTransaction(async (sql) => {
        await sql.query('LOCK TABLE run_events IN SHARE MODE');
        recovering = hosts.host().store.recover({ run_id, reason: 'a test', by });
        await until(
          'the record to be read',
          async () => (await server.ask(settings, waitingForLock)).length === 1,
        );
        appending = store.append(run_id, () => [turn()]);
        await Promise.race([
          appending,
          until('the append to wait', async () => (await server.ask(settings, waitingForLock)).length === 2),
        ]);
      });
      await recovering;
      const { head } = await appending!;
      const events = await hosts.host().store.events(run_id);
      expect(events.map(({ hash }) => hash)).to.include(head.hash);
      expect(events.map(({ type }) => type).slice(-2)).to.deep.equal(['record_recovered', turn().type]);
    });

    it('says what was changed in the database behind its back, and lets a cut record go on', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      await store.append(run_id, ({ actions }) => [decided(actions[0]!.definition)]);
      const ask = (text: string, ...values: unknown[]) => server.ask(settings, text, [run_id, ...values]);
      await ask("UPDATE run_events SET line = replace(line, 'mira', 'eve!') WHERE run_id = $1 AND seq = 8");
      const fresh = hosts.host().store;
      expect(codeOf(await failure(fresh.read(run_id)))).to.equal('run_damaged');
      expect(await fresh.resolve(run_id)).to.equal(run_id);
      expect((await fresh.verify(run_id)).problems.map(({ what }) => what).join()).to.contain(
        'was changed after it was written',
      );
      await ask('DELETE FROM run_events WHERE run_id = $1 AND seq = 8');
      expect(codeOf(await failure(fresh.read(run_id)))).to.equal('record_cut');
      expect((await fresh.record(run_id)).problem).to.contain('event 8');
      const run = await fresh.recover({ run_id, reason: 'a test', by });
      expect(run.recoveries).to.have.length(1);
      expect(run.actions[0]?.approval).to.not.equal('approved');
      expect((await store.read(run_id)).head).to.deep.equal(run.head);
      expect((await store.append(run_id, () => [turn()])).head.seq).to.equal(9);
    });

    for (const read of [1, 2, 3])
      it(`does not take views for altered that another process of this host writes after its read ${read}`, async () => {
        const { run_id } = await store.create(sampleRequest());
        await store.writeViews(run_id);
        const database = openPostgres(settings, 'core-test', { schema: agentdSchema });
        let reads = 0;
        const query: typeof database.query = async (text, values) => {
          const rows = await database.query(text, values);
          if (text.includes('FROM runs') && ++reads === read) {
            await store.append(run_id, () => [turn()]);
            await store.writeViews(run_id);
          }
          return rows as never;
        };
        const other = new DatabaseRunStore({
          stateDir: join(home, 'state'),
          database: { ...database, query },
        });
        await other.requireUnaltered(run_id);
        expect(reads).to.be.at.least(read);
        await other.close();
      });

    it('says that an artifact was changed', async () => {
      const { run_id } = await store.create(sampleRequest());
      const digest = await store.putArtifact(run_id, 'content');
      await store.append(run_id, () => planned(run_id));
      await server.ask(settings, "UPDATE run_artifacts SET content = 'other' WHERE run_id = $1", [run_id]);
      expect(codeOf(await failure(store.artifact(run_id, digest)))).to.equal('artifact_damaged');
      expect(codeOf(await failure(store.requireArtifacts(run_id)))).to.equal('artifact_differs');
    });

    it('prunes rows, clones and mirrors, and leaves a tombstone', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store
        .append(run_id, () => [{ type: 'run_cancelled', data: { by: 'mira' } } as never])
        .catch(() => {});
      const data = { code: 'model_failed', message: 'it did not answer', retryable: true };
      await store.append(run_id, () => [{ type: 'planning_failed', data }]);
      await store.writeViews(run_id);
      mkdirSync(join(home, 'state/clones', run_id), { recursive: true });
      const other = hosts.host();
      await other.store.mirror(run_id);
      const request = { before: '2100-01-01T00:00:00.000Z', what: 'runs', dry_run: false } as const;
      const lease = await other.store.lease(executorLease(run_id));
      expect((await store.prune(request)).kept.map(({ reason }) => reason).join()).to.contain(
        'is held by process',
      );
      await lease.release();
      expect((await store.prune({ ...request, dry_run: true })).runs).to.deep.equal([run_id]);
      expect((await store.read(run_id)).status).to.equal('failed');
      const pruned = await store.prune(request);
      expect([pruned.runs, pruned.clones]).to.deep.equal([[run_id], [run_id]]);
      expect(codeOf(await failure(store.read(run_id)))).to.equal('run_pruned');
      expect((await store.list({ limit: 10 })).runs).to.deep.equal([]);
      expect([...filesIn(folderOf(run_id)).keys()]).to.deep.equal(['tombstone.json']);
      expect((await other.store.prune(request)).bytes).to.be.greaterThan(0);
      expect(codeOf(await failure(other.store.putArtifact(run_id, 'x')))).to.equal('run_pruned');
    });

    it('goes on by itself when the database was away', async () => {
      const { run_id } = await store.create(sampleRequest());
      const away = await startPostgres(['log_min_messages=fatal']);
      const elsewhere = makeHosts(await away.database());
      const there = elsewhere.host().store;
      const made = await there.create(sampleRequest());
      await away.crash();
      expect(codeOf(await failure(there.append(made.run_id, () => [turn()])))).to.equal(
        'database_unavailable',
      );
      await away.restart();
      const run = await until('the database', () =>
        there.append(made.run_id, () => [turn()]).catch(() => null),
      );
      expect(run.head.seq).to.equal(2);
      await elsewhere.end();
      await away.stop();
      expect((await store.read(run_id)).head.seq).to.equal(1);
    });
  });
});

/** Hosts of one database, each with a home of its own. */
function makeHosts(settings: PostgresSettings) {
  const homes: string[] = [];
  const stores: DatabaseRunStore[] = [];
  return {
    host(own: PostgresSettings = settings, { leaseMs }: Pick<DatabaseRunStoreOptions, 'leaseMs'> = {}) {
      const home = mkdtempSync(join(tmpdir(), 'core-host-'));
      homes.push(home);
      mkdirSync(join(home, 'config'));
      mkdirSync(join(home, 'state'));
      writeFileSync(
        join(home, 'config/core.json'),
        JSON.stringify({ storage: { kind: 'postgres', ...own } }),
      );
      const store = new DatabaseRunStore({
        stateDir: join(home, 'state'),
        database: openPostgres(own, 'core-test', { schema: agentdSchema }),
        ...(leaseMs === undefined ? {} : { leaseMs }),
      });
      stores.push(store);
      return { home, store };
    },
    async end(): Promise<void> {
      for (const store of stores) await store.close();
      for (const home of homes) rmSync(home, { recursive: true, force: true });
    },
  };
}

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(names.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path, 'latin1')]));
}
