import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { childEnvironment } from '#kit/environment.ts';
import { DatabaseRunStore } from '../../../services/agentd/runs/database-run-store.ts';
import { patientLease } from '../../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../../services/agentd/schema.ts';
import { planned, sampleRequest, turn } from '../../contract/run-store.sample.ts';
import type { PostgresServer } from '../../fixtures/postgres.ts';
import { type Comparison, compare, takeTurns } from '../comparison.ts';
import { processorShare } from './processor-share.ts';

const appends = 100;
const approvals = 60;
/** Of a processor, for each daemon: four of them, and the database's work for them, then fit into one. */
const daemonShare = 0.1;
const pages = 10;
const leaseMs = 3_000;
/** Milliseconds beside the lease's own time, within which another host has it. */
const graceMs = 2_000;

/** Runs of several hosts on one PostgreSQL. */
export async function runsOnHosts(server: PostgresServer, folder: string): Promise<Comparison[]> {
  return [
    ...(await appendsOf(await server.database(), folder)),
    ...(await approvalsOf(await server.database(), folder)),
    ...(await listsOf(server, folder)),
    ...(await takeOverOf(server, await server.database(), folder)),
  ];
}

async function appendsOf(settings: PostgresSettings, folder: string): Promise<Comparison[]> {
  const database = openPostgres(settings, 'core-bench', { schema: agentdSchema });
  const store = new DatabaseRunStore({ stateDir: join(folder, 'append'), database });
  try {
    const { run_id } = await store.create(sampleRequest());
    await store.append(run_id, () => planned(run_id));
    await store.append(run_id, () => [turn()]);
    const [event] = await store.events(run_id, 7);
    const line = JSON.stringify(event);
    await database.query('CREATE TABLE bare (id bigserial PRIMARY KEY, line text NOT NULL)');
    const samples = await takeTurns(10, {
      bare: () => perSecond(appends, () => database.query('INSERT INTO bare (line) VALUES ($1)', [line])),
      store: () => perSecond(appends, () => store.append(run_id, () => [turn()])),
    });
    const what = { subject: 'an event on PostgreSQL', yardstick: 'a single-row commit there' };
    return [compare({ ...what, measure: 'rate', bar: 0.5 }, samples.store, samples.bare)];
  } finally {
    await store.close();
  }
}

/** Daemons on one machine would only share its processors: each gets as small a part as four of them can have at once. */
async function approvalsOf(settings: PostgresSettings, folder: string): Promise<Comparison[]> {
  const limited = processorShare(daemonShare) !== null;
  const samples = await takeTurns(3, {
    one: (round) => approvalsPerSecond(1, settings, join(folder, `one-${round}`)),
    two: (round) => approvalsPerSecond(2, settings, join(folder, `two-${round}`)),
    four: (round) => approvalsPerSecond(4, settings, join(folder, `four-${round}`)),
  });
  const how = limited
    ? `with ${daemonShare} of a processor each`
    : 'that share the processors (no control groups)';
  const of = (hosts: string, bar: number, found: readonly number[]): Comparison =>
    compare(
      { subject: `approvals by ${hosts} daemons ${how}`, yardstick: 'one daemon', measure: 'rate', bar },
      found,
      samples.one,
    );
  return [of('two', 1.6, samples.two), of('four', 2.5, samples.four)];
}

/** Processes that are ready begin at once, each with runs of its own. */
async function approvalsPerSecond(
  count: number,
  settings: PostgresSettings,
  folder: string,
): Promise<number> {
  const script = fileURLToPath(new URL('./approver.ts', import.meta.url));
  const children = Array.from({ length: count }, (_, index) => {
    const home = join(folder, String(index));
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(
      join(home, 'config/core.json'),
      JSON.stringify({ storage: { kind: 'postgres', ...settings } }),
    );
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', script, home, String(approvals)],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: childEnvironment({}),
      },
    );
    return { child, lines: createInterface({ input: child.stdout }) };
  });
  await Promise.all(children.map(({ lines }) => once(lines, 'line')));
  const share = processorShare(daemonShare);
  for (const { child } of children) share?.limit(child.pid!);
  const started = performance.now();
  const ends = children.map(({ lines }) => once(lines, 'line'));
  for (const { child } of children) child.stdin.end('go\n');
  await Promise.all(ends);
  const rate = (count * approvals * 1000) / (performance.now() - started);
  await Promise.all(children.map(({ child }) => (child.exitCode === null ? once(child, 'exit') : null)));
  share?.end();
  return rate;
}

async function listsOf(server: PostgresServer, folder: string): Promise<Comparison[]> {
  const few = await filled(server, 10_000, folder);
  const many = await filled(server, 1_000_000, folder);
  try {
    const samples = await takeTurns(10, { few: () => pageTime(few), many: () => pageTime(many) });
    const what = { subject: 'a page of 1,000,000 runs', yardstick: 'a page of 10,000' };
    return [compare({ ...what, measure: 'time', bar: 2 }, samples.many, samples.few)];
  } finally {
    await few.close();
    await many.close();
  }
}

async function filled(server: PostgresServer, count: number, folder: string): Promise<DatabaseRunStore> {
  const settings = { ...(await server.database()), statement_seconds: 600 };
  const store = new DatabaseRunStore({
    stateDir: join(folder, `list-${count}`),
    database: openPostgres(settings, 'core-bench', { schema: agentdSchema }),
  });
  await store.count();
  await server.ask(
    settings,
    `INSERT INTO runs (run_id, seq, hash, type, size, status, forge, owner, repo, number, title, role, created_at, updated_at,
       highest_risk, waiting, waits_for, actions, asked_by, decided_by, words)
     SELECT 'run_' || lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000', 9, repeat('0', 64), 'plan_sealed', 9000,
       CASE WHEN n % 10 = 0 THEN 'awaiting_approval' ELSE 'completed' END, 'github', 'owner' || n % 100, 'repo' || n % 1000, n,
       'A title of some length', 'Depute', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'low', 0, NULL, 7, '', '', ''
     FROM generate_series(1, $1::int) AS n`,
    [count],
  );
  await server.ask(settings, 'ANALYZE runs');
  return store;
}

/** Milliseconds for pages from the newest on, of all runs, of those that wait, and of a repository. */
async function pageTime(store: DatabaseRunStore): Promise<number> {
  const started = performance.now();
  for (const filter of [{}, { status: 'awaiting_approval' }, { owner: 'owner7', repo: 'repo107' }] as const) {
    const limit = 'owner' in filter ? 10 : 50;
    let cursor: string | null = null;
    for (let page = 0; page < pages; page++) {
      const { next_cursor }: { next_cursor: string | null } = await store.list({
        ...filter,
        limit,
        ...(cursor === null ? {} : { cursor }),
      });
      cursor = next_cursor;
      if (cursor === null || 'owner' in filter) break;
    }
  }
  return performance.now() - started;
}

/** From the SIGKILL of a host that holds a lease until another has it. */
async function takeOverOf(
  server: PostgresServer,
  settings: PostgresSettings,
  folder: string,
): Promise<Comparison[]> {
  const found: number[] = [];
  for (let round = 0; round < 3; round++) {
    const [dying, next] = ['dying', 'next'].map(
      (name) =>
        new DatabaseRunStore({
          stateDir: join(folder, name),
          database: openPostgres(settings, 'core-bench', { schema: agentdSchema }),
          leaseMs,
        }),
    ) as [DatabaseRunStore, DatabaseRunStore];
    await dying.lease('run of a host');
    // Of a machine that cannot be seen from here, and that renews no more.
    await server.ask(settings, "UPDATE leases SET boot_id = 'elsewhere', token = gen_random_uuid()::text");
    const started = performance.now();
    const lease = await patientLease(next, 'run of a host');
    found.push(performance.now() - started);
    await lease.release();
    await Promise.all([dying.close(), next.close()]);
  }
  const what = { subject: 'taking over from a killed host', yardstick: 'the time of a lease and 2 s' };
  return [
    compare(
      { ...what, measure: 'time', bar: 1 },
      found,
      found.map(() => leaseMs + graceMs),
    ),
  ];
}

async function perSecond(times: number, once: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  for (let done = 0; done < times; done++) await once();
  return (times * 1000) / (performance.now() - started);
}
