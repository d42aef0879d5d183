import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { createFencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import type { Schema } from '#kit/database/schema.ts';
import { sha256 } from '#kit/digest.ts';
import { type CoreError, codeOf } from '#kit/errors.ts';
import { DatabaseJobs } from '#kit/jobs/database-jobs.ts';
import { openServices } from '../../services/agentd/main.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { executorLease } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { decided, planned, sampleRequest, turn } from '../contract/run-store.sample.ts';
import { failure } from '../fixtures/failure.ts';
import { type StandbyPair, startPostgresPair } from '../fixtures/postgres-standby.ts';
import { until } from '../fixtures/until.ts';
import { everybody, makeWorld, quiet, ref, secondHost, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const notificationTable = { name: 'notification_jobs', ready: 'true' };
const by = { name: 'mira', scopes: ['admin'] } as never;

describeWith(['git', 'postgres'], 'a standby that takes over', () => {
  let pair: StandbyPair;
  let settings: PostgresSettings;
  let closing: (() => Promise<unknown>)[];

  async function start(mode: 'synchronous' | 'asynchronous'): Promise<void> {
    pair = await startPostgresPair(mode);
    settings = await pair.database();
  }

  beforeEach(() => {
    closing = [];
  });

  afterEach(async () => {
    for (const close of closing) await close();
    await pair.stop();
  });

  function host(): DatabaseRunStore {
    const stateDir = mkdtempSync(join(tmpdir(), 'core-host-'));
    const store = new DatabaseRunStore({
      stateDir,
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
    });
    closing.push(() => store.close());
    return store;
  }

  const seqs = async (store: DatabaseRunStore, runId: string) =>
    (await store.events(runId)).map(({ seq }) => seq);

  const logOf = (store: DatabaseRunStore, runId: string) =>
    readFileSync(join(store.stateDir, 'runs', runId, 'events.jsonl'), 'utf8');

  it('has all that was acknowledged, where it is synchronous', async () => {
    await start('synchronous');
    const stores = [host(), host()];
    const runs = await Promise.all(stores.map((store) => store.create(sampleRequest())));
    const acknowledged = new Map<string, string>();
    let stopped = false;
    let failed = 0;
    const writing = stores.flatMap((store) =>
      runs.map(async ({ run_id }) => {
        while (!stopped) {
          try {
            const { head } = await store.append(run_id, () => [turn()]);
            acknowledged.set(`${run_id} ${head.seq}`, head.hash);
          } catch (error) {
            expect(codeOf(error)).to.equal('database_unavailable');
            failed++;
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        }
      }),
    );
    await until('events', () => acknowledged.size > 60);
    const follower = openPostgres(settings, 'core-test', { schema: agentdSchema });
    closing.push(() => follower.close());
    let looks = 0;
    follower.signals.watch(runs[0]!.run_id, () => looks++);
    await until('notifications', () => follower.signals.arrive);
    await pair.failOver();
    const before = acknowledged.size;
    await until('events after it', () => acknowledged.size > before + 20);
    stopped = true;
    await Promise.all(writing);
    expect(failed).to.be.greaterThan(0);
    await until('notifications of the server that took over', () => follower.signals.arrive);
    const looked = looks;
    await stores[0]!.append(runs[0]!.run_id, () => [turn()]);
    await until('the look', () => looks > looked);
    expect(follower.signals.arrive).to.equal(true);
    for (const { run_id } of runs) {
      const hashes = (await host().events(run_id)).map(({ hash }) => hash);
      for (const [place, hash] of acknowledged) {
        const [of, seq] = place.split(' ');
        if (of === run_id) expect(hashes[Number(seq) - 1], place).to.equal(hash);
      }
    }
  });

  describe('without the last transactions', () => {
    beforeEach(() => start('asynchronous'));

    /** A run with 8 events, of which the standby has 7; its last one is known to the store, and to its mirror where that is wanted. */
    async function lost({ mirrored }: { mirrored: boolean }) {
      const store = host();
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => planned(run_id));
      await store.writeViews(run_id);
      await replicated();
      await pair.cutReplication();
      const after = await store.append(run_id, ({ actions }) => [decided(actions[0]!.definition)]);
      if (mirrored) await store.writeViews(run_id);
      await pair.failOver();
      await answers(store);
      return { store, run_id, head: after.head, log: logOf(store, run_id) };
    }

    it('is noticed by the host whose mirror has more, which keeps it', async () => {
      const { store, run_id, head, log } = await lost({ mirrored: true });
      expect((await store.read(run_id)).head.seq).to.equal(head.seq - 1);
      for (const work of [
        () => store.append(run_id, () => [turn()]),
        () => store.mirror(run_id),
        () => store.writeViews(run_id),
      ]) {
        const error = await failure(work());
        expect(codeOf(error)).to.equal('database_behind');
        expect(String(error)).to.contain(
          `the database is behind this host's mirror of run ${run_id} by 1 event, from event ${head.seq} (approval_recorded)`,
        );
      }
      expect(logOf(store, run_id)).to.equal(log);
      const { problems } = await store.verify(run_id);
      expect(problems.find(({ where }) => where === 'database')?.what).to.contain('by 1 event');
      expect(await store.record(run_id)).to.include({ last_type: 'approval_recorded', restorable: true });
    });

    it('is noticed by the process that was acknowledged more, which keeps it in the mirror', async () => {
      const { store, run_id, head, log } = await lost({ mirrored: false });
      await store.read(run_id);
      expect(codeOf(await failure(store.append(run_id, () => [turn()])))).to.equal('database_behind');
      expect(logOf(store, run_id).startsWith(log)).to.equal(true);
      expect(logOf(store, run_id).trim().split('\n')).to.have.length(head.seq);
      expect((await store.restore(run_id)).head).to.deep.equal(head);
      expect((await store.append(run_id, () => [turn()])).head.seq).to.equal(head.seq + 1);
    });

    it('lacks no artifact once the events of a process are put back', async () => {
      const store = host();
      const { run_id } = await store.create(sampleRequest());
      await store.putArtifact(run_id, 'before');
      await replicated();
      await pair.cutReplication();
      const digest = await store.putArtifact(run_id, 'after');
      await store.append(run_id, () => planned(run_id));
      await pair.failOver();
      await answers(store);
      expect(codeOf(await failure(store.writeViews(run_id)))).to.equal('database_behind');
      await store.restore(run_id);
      expect(Buffer.from(await host().artifact(run_id, digest)).toString()).to.equal('after');
    });

    it('gets back a whole run with its task', async () => {
      const store = host();
      await store.count();
      await replicated();
      await pair.cutReplication();
      const task = 'Greet strangers';
      const request = { ...sampleRequest(), number: null, task: { content: sha256(task), trusted: true } };
      const { run_id } = await store.create(request, task);
      await pair.failOver();
      await answers(store);
      await store.restore(run_id);
      expect(Buffer.from(await host().artifact(run_id, sha256(task))).toString()).to.equal(task);
    });

    it('gets back an artifact alone, where no event is lost', async () => {
      const store = host();
      const { run_id } = await store.create(sampleRequest());
      await store.putArtifact(run_id, 'before');
      await replicated();
      await pair.cutReplication();
      const digest = await store.putArtifact(run_id, 'after');
      await pair.failOver();
      await answers(store);
      expect(codeOf(await failure(store.artifact(run_id, digest)))).to.equal('artifact_not_found');
      await store.restore(run_id);
      expect(Buffer.from(await host().artifact(run_id, digest)).toString()).to.equal('after');
      expect(codeOf(await failure(store.restore(run_id)))).to.equal('record_whole');
    });

    it('gets back what a mirror has', async () => {
      const { store, run_id, head, log } = await lost({ mirrored: true });
      const run = await store.restore(run_id);
      expect([run.head, run.actions[0]?.approval]).to.deep.equal([head, 'approved']);
      expect(codeOf(await failure(store.restore(run_id)))).to.equal('record_whole');
      await store.writeViews(run_id);
      expect(logOf(store, run_id)).to.equal(log);
      const other = host();
      expect((await other.append(run_id, () => [turn()])).head.seq).to.equal(head.seq + 1);
      const { problems } = await other.verify(run_id);
      expect(problems.filter(({ where }) => !where.startsWith('run_artifacts/'))).to.deep.equal([]);
      await store.mirror(run_id);
      expect(await seqs(store, run_id)).to.have.length(head.seq + 1);
    });

    it('lets a run go on without it, and keeps what the mirror has as an artifact', async () => {
      const { store, run_id, head, log } = await lost({ mirrored: true });
      const other = host();
      await other.append(run_id, () => [turn()]);
      const error = await failure(store.restore(run_id));
      expect(codeOf(error)).to.equal('database_behind');
      expect(String(error)).to.contain('it went on with 1 other event');
      expect((await store.record(run_id)).restorable).to.equal(false);
      const run = await store.recover({ run_id, reason: 'a test', by });
      const { lost: gone, set_aside } = run.recoveries[0]!;
      expect(gone).to.deep.equal({ seq: head.seq, hash: head.hash });
      const kept = Buffer.from(await other.artifact(run_id, set_aside!.artifact)).toString();
      expect(log.endsWith(kept)).to.equal(true);
      expect(kept.trim().split('\n')).to.have.length(1);
      await store.append(run_id, () => [turn()]);
      await store.mirror(run_id);
      expect(logOf(store, run_id)).to.contain('record_recovered').and.not.contain('approval_recorded');
      expect((await store.verify(run_id)).problems.map(({ where }) => where)).to.not.include('database');
    });

    it('may lack a whole run, which the host that made it has', async () => {
      const store = host();
      await store.count();
      await replicated();
      await pair.cutReplication();
      const { run_id } = await store.create(sampleRequest());
      const { head } = await store.append(run_id, () => planned(run_id));
      await store.writeViews(run_id);
      await pair.failOver();
      await answers(store);
      for (const work of [() => store.read(run_id), () => store.append(run_id, () => [turn()])])
        expect(codeOf(await failure(work()))).to.equal('database_behind');
      expect((await store.verify(run_id)).problems[0]?.what).to.contain(
        `by ${head.seq} events, from event 1`,
      );
      expect((await store.restore(run_id)).head).to.deep.equal(head);
      expect((await host().list({ limit: 5 })).runs.map((run) => run.run_id)).to.deep.equal([run_id]);
    });

    it('fences off who held a lease that it does not have, also where its numbers begin again', async () => {
      const holder = host();
      const { run_id } = await holder.create(sampleRequest());
      const leases = createFencedLeases(openDatabase());
      for (let nth = 0; nth < 3; nth++) await (await leases.acquire('warm')).release();
      await replicated();
      await pair.cutReplication();
      const lease = await holder.lease(executorLease(run_id));
      const numbers: number[] = [];
      // More than PostgreSQL writes ahead of a sequence.
      for (let nth = 0; nth < 80; nth++) {
        const one = await leases.acquire('many');
        numbers.push(one.fencing);
        await one.release();
      }
      await pair.failOver();
      await answers(holder);
      const again = await leases.acquire('many');
      expect(numbers, 'a number is given twice').to.include(again.fencing);
      const other = host();
      const taken = await other.lease(executorLease(run_id));
      expect(codeOf(await failure(holder.append(run_id, () => [turn()])))).to.equal('lease_lost');
      expect(lease.lost.aborted).to.equal(true);
      expect((await other.append(run_id, () => [turn()])).head.seq).to.equal(2);
      await taken.release();
      await again.release();
    });

    it('lets nobody end a claim of a job that it does not have, whatever is claimed there', async () => {
      const store = host();
      await store.create(sampleRequest());
      const jobs = () => {
        const rows = new DatabaseJobs(openDatabase(agentdSchema), notificationTable);
        closing.push(async () => rows.close());
        return rows;
      };
      const [holder, other] = [jobs(), jobs()];
      await holder!.counts({});
      await pair.ask(
        settings,
        `INSERT INTO notification_jobs (person, channel, notice_id, notice, state, created_at, changed_at, due_at)
          VALUES ('mira', 'mail', 'n', '{}', 'pending', 0, 0, 0)`,
      );
      await replicated();
      await pair.cutReplication();
      let lost = await holder.take(60_000, {}, false);
      // More than PostgreSQL writes ahead of a sequence.
      for (let nth = 0; nth < 80; nth++) {
        expect(await holder.end(lost!.claim, { state: 'pending' }, 0)).to.equal(true);
        lost = await holder.take(60_000, {}, true);
      }
      await pair.failOver();
      await answers(store);
      for (let nth = 0; nth < 120; nth++) {
        const taken = await other.take(60_000, {}, true);
        expect(await holder.end(lost!.claim, { state: 'done' }), `after ${nth} claims`).to.equal(false);
        expect(await other.end(taken!.claim, { state: 'pending' }, 0)).to.equal(true);
      }
    });

    describe('of an execution', () => {
      let world: World;

      beforeEach(async () => {
        world = await makeWorld({ vcs: 'git', storage: settings });
        closing.push(() => world.close());
      });

      async function executedUnseen(): Promise<string> {
        const { run_id } = await world.plannedAndApproved();
        await replicated();
        await pair.cutReplication();
        const run = await world.agent.execute(executionOf(run_id), quiet);
        expect(run.status).to.equal('completed');
        await pair.failOver();
        await until('the standby', () => world.agent.run(run_id).catch(() => null));
        expect((await world.agent.run(run_id)).status).to.equal('awaiting_approval');
        return run_id;
      }

      async function expectOnce(run_id: string): Promise<void> {
        const { branch } = (await world.agent.run(run_id)).plan!.target;
        const pushes = readFileSync(join(world.remote.gitDir, 'logs/refs/heads', branch!), 'utf8');
        expect(pushes.trim().split('\n'), 'pushes').to.have.length(1);
        const pulls = await world.forgeAdmin.listPullRequests(ref, 'all');
        expect(pulls.filter(({ head }) => head === branch)).to.have.length(1);
      }

      const executionOf = (run_id: string) => ({
        ...{ run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      });

      it('is complete again with the events of the mirror, and does nothing twice', async () => {
        const run_id = await executedUnseen();
        expect(codeOf(await failure(world.agent.execute(executionOf(run_id), quiet)))).to.equal(
          'database_behind',
        );
        const shown = await world.command(['recover', run_id]);
        expect(shown.code, shown.stderr).to.equal(1);
        expect(shown.stdout).to.contain('--from-mirror');
        const restored = await world.command(['recover', run_id, '--from-mirror', '--json']);
        expect(restored.code, restored.stderr).to.equal(0);
        expect((await world.agent.run(run_id)).status).to.equal('completed');
        await expectOnce(run_id);
        expect((await world.agent.verify(run_id)).problems).to.deep.equal([]);
      });

      it('may lack all of its run, which the command that the message names puts back', async () => {
        await world.agent.runs({ limit: 1 });
        await replicated();
        await pair.cutReplication();
        const { run_id } = await world.plannedAndApproved();
        await pair.failOver();
        await until('the standby', () => world.agent.runs({ limit: 1 }).catch(() => null));
        const error = await failure(world.agent.run(run_id));
        expect(codeOf(error)).to.equal('database_behind');
        expect((error as CoreError).hint).to.contain(`./core recover ${run_id} on this host`);
        const shown = await world.command(['recover', run_id]);
        expect(shown.stdout, shown.stderr).to.contain('--from-mirror');
        const restored = await world.command(['recover', run_id, '--from-mirror']);
        expect(restored.code, restored.stderr).to.equal(0);
        expect((await world.agent.run(run_id)).actions[0]!.approval).to.equal('approved');
      });

      it('is planned by the same key again, where nobody has the run that the key named', async () => {
        const number = await world.newIssue('It should greet strangers.');
        const request = { ...ref, number, idempotency_key: 'nightly', by: everybody };
        await world.agent.runs({ limit: 1 });
        await replicated();
        await pair.cutReplication();
        const before = await openServices({ home: world.home });
        const first = await before.agent.createRun(request, quiet.signal);
        await before.close();
        await pair.failOver();
        await until('the standby', () => world.agent.runs({ limit: 1 }).catch(() => null));
        const again = await world.agent.createRun(request, quiet.signal);
        expect([again.created, again.run.run_id]).to.not.deep.equal([first.created, first.run.run_id]);
        expect((await world.agent.createRun(request, quiet.signal)).run.run_id).to.equal(again.run.run_id);
      });

      it('is not done twice by a host that knows nothing of it', async () => {
        const run_id = await executedUnseen();
        const other = await secondHost(world);
        closing.push(() => other.close());
        // Git counts in seconds: within the same one, the commit that is built again is the one that is there.
        await delay(1000);
        const run = await other.agent.execute(executionOf(run_id), quiet);
        // It has another time, and does not replace the one that is there.
        expect(run.actions.map(({ definition, state }) => `${definition.kind} ${state}`)).to.include.members([
          'commit failed',
          'push_branch blocked',
        ]);
        await expectOnce(run_id);
      });
    });

    function openDatabase(schema?: Schema) {
      const database = openPostgres(settings, 'core-test', schema === undefined ? {} : { schema });
      closing.push(() => database.close());
      return database;
    }

    async function answers(store: DatabaseRunStore): Promise<void> {
      await until('the standby', () =>
        store.count().then(
          () => true,
          () => false,
        ),
      );
    }

    /** The standby has all that was committed. */
    async function replicated(): Promise<void> {
      await until('the standby to have all', async () => {
        const [row] = await pair.ask<{ there: boolean }>(
          settings,
          'SELECT replay_lsn >= pg_current_wal_lsn() AS there FROM pg_stat_replication',
        );
        return row?.there === true;
      });
    }
  });
});
