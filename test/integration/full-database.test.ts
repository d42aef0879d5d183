import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { isConnectionLoss } from '#kit/database/postgres-error.ts';
import { codeOf } from '#kit/errors.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { eventOf } from '../contract/bridge-queue.contract.ts';
import { readLedgerDatabase } from '../contract/model-ledger.benches.ts';
import { spentBy, testCall, testPrices, token } from '../contract/model-ledger.scene.ts';
import { sampleRequest, turn } from '../contract/run-store.sample.ts';
import { storageIn } from '../fixtures/bridge/storage-place.ts';
import { ledgerInDatabase } from '../fixtures/gateway/ledger-stores.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { unprivileged } from '../fixtures/postgres-cluster.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { emptyDisk, type OwnMounts } from '../fixtures/world/own-mounts.ts';
import { describeWith } from '../needs.ts';

/** One kind of work against the database, again and again until it is stopped. */
interface Worker {
  /** What was acknowledged, by a name that the database has too. */
  readonly acknowledged: string[];
  /** How often it was refused, by the error's code. */
  readonly refused: Map<string, number>;
  readonly ended: Promise<void>;
}

describeWith(['mounts', 'postgres'], 'a database whose disk is full', () => {
  let disk: OwnMounts;
  let server: PostgresServer;
  let settings: PostgresSettings;
  let closing: (() => Promise<unknown>)[];
  let stopped: boolean;

  beforeEach(async () => {
    disk = await emptyDisk(temporaryFolder(), 192, unprivileged());
    // Few segments of the write-ahead log are kept for later, so that it is soon full as well.
    const options = ['min_wal_size=32MB', 'max_wal_size=32MB'];
    server = await startPostgres(options, join(disk.state, 'data'));
    settings = await server.database();
    closing = [];
    stopped = false;
  });

  afterEach(async () => {
    stopped = true;
    for (const close of closing) await close();
    await server.stop();
    disk.close();
  });

  function working(work: (number: number) => Promise<string>): Worker {
    const acknowledged: string[] = [];
    const refused = new Map<string, number>();
    const ended = (async () => {
      for (let number = 1; !stopped; number++) {
        try {
          acknowledged.push(await work(number));
        } catch (error) {
          refused.set(codeOf(error), (refused.get(codeOf(error)) ?? 0) + 1);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    })();
    return { acknowledged, refused, ended };
  }

  async function appending(): Promise<Worker> {
    const store = new DatabaseRunStore({
      stateDir: temporaryFolder(),
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
    });
    closing.push(() => store.close());
    const { run_id } = await store.create(sampleRequest());
    return working(async () => {
      await store.putArtifact(run_id, randomBytes(20_000));
      const { head } = await store.append(run_id, () => [turn()]);
      return `${run_id} ${head.seq} ${head.hash}`;
    });
  }

  function reserving(): Worker {
    const ledger = new Ledger(ledgerInDatabase(settings), { prices: testPrices, dayBudget: null });
    closing.push(() => ledger.close());
    return working(async (number) => {
      const reservation = await ledger.reserve(token, testCall);
      reservation.settle({ ...spentBy(1), upstream: 'first' });
      return String(number);
    });
  }

  function queueing(host: string): Worker {
    const storage = storageIn(settings);
    closing.push(() => storage.close());
    return working(async (number) => {
      const event_id = `${host} ${number}`;
      await storage.events.accept(eventOf(number, { event_id, body_sha256: event_id }), 0);
      return event_id;
    });
  }

  /** Fills the write-ahead log until the server cannot go on: before, it refuses what needs a file. */
  async function fillLog(): Promise<void> {
    const text = "SELECT pg_logical_emit_message(false, 'test', 'x'), pg_switch_wal()";
    await until('a server that cannot go on', () =>
      server.ask(settings, text).then(() => false, isConnectionLoss),
    );
  }

  it('refuses by name, loses nothing that it acknowledged, and goes on when there is room', async () => {
    const workers = {
      appends: [await appending(), await appending()],
      reservations: [reserving(), reserving()],
      events: [queueing('one'), queueing('two')],
    };
    const all = Object.values(workers).flat();
    const more = async (what: string, count: number) => {
      const before = all.map(({ acknowledged }) => acknowledged.length);
      await until(what, () =>
        all.every(({ acknowledged }, at) => acknowledged.length >= before[at]! + count),
      );
    };
    await more('work', 5);
    disk.fill(0);
    for (const [what, of] of Object.entries(workers))
      await until(
        () => `${what} refused for the disk, of ${JSON.stringify(of.map(({ refused }) => [...refused]))}`,
        () => of.some(({ refused }) => refused.has('disk_full')),
      );
    disk.free();
    await more('work with room again', 5);
    disk.fill(0);
    await fillLog();
    await until('refusals of everybody', () =>
      all.every(({ refused }) => refused.has('database_unavailable')),
    );
    await server.crash();
    disk.free();
    await server.restart();
    await more('work after the restart', 5);
    stopped = true;
    await Promise.all(all.map(({ ended }) => ended));
    for (const { refused } of all)
      expect(
        [...refused.keys()].filter((code) => !['disk_full', 'database_unavailable'].includes(code)),
      ).to.deep.equal([]);
    const said = (of: readonly Worker[]) => of.flatMap(({ acknowledged }) => acknowledged).sort();
    const names = async (text: string) =>
      (await server.ask<{ name: string }>(settings, text)).map(({ name }) => name);
    const events = await names("SELECT run_id || ' ' || seq || ' ' || hash AS name FROM run_events");
    expect(said(workers.appends).filter((name) => !events.includes(name))).to.deep.equal([]);
    const queued = await names('SELECT event_id AS name FROM bridge_events');
    expect(said(workers.events).filter((name) => !queued.includes(name))).to.deep.equal([]);
    expect(new Set(queued).size).to.equal(queued.length);
    for (const close of closing.splice(0)) await close();
    const { calls, total } = await readLedgerDatabase(server, settings);
    expect(calls.length).to.be.at.least(said(workers.reservations).length);
    expect(total.calls + total.unsettled).to.equal(calls.length);
    expect(total.cost).to.equal(calls.reduce((sum, { cost }) => sum + cost, 0));
  });
});
