import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { type PostgresServer, startPostgres } from '../../fixtures/postgres.ts';
import { everybody, makeWorld, quiet } from '../../fixtures/world/world.ts';

/** `node test/bench/hosts/model.ts`: measures what a run costs on PostgreSQL, and prints the tables of site/guide-region.md. */
interface Cost {
  /** Seconds of a processor, children included. */
  readonly hostSeconds: number;
  readonly databaseSeconds: number;
  /** How often the server made its log durable, and what it wrote. */
  readonly flushes: number;
  readonly logBytes: number;
  readonly storedBytes: number;
}

const runs = 10;
/** Runs of a busy second, in those of an average one. */
const peak = 4;
/** What the model compares with: three hosts and a database of two processors each, and a volume of 1 TB. */
const machine = { hostProcessors: 6, databaseProcessors: 2, storedBytes: 1e12 };
/** Nothing is filled to the brim. */
const fullest = 0.7;
const ticksPerSecond = 100;

const server = await startPostgres(['fsync=on']);
try {
  const settings = await server.database();
  const cost = await costOfRuns(server, settings);
  const commits = await commitsPerSecond(server, settings);
  process.stdout.write(`${costTable(cost, commits)}\n${loadTable(cost, commits)}`);
} finally {
  await server.stop();
}

async function costOfRuns(server: PostgresServer, settings: PostgresSettings): Promise<Cost> {
  const world = await makeWorld({ vcs: 'git', storage: settings });
  const oneRun = async () => {
    const { run_id } = await world.plannedAndApproved();
    const execution = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
    const { status } = await world.agent.execute(execution, quiet);
    if (status !== 'completed') throw new Error(`run ${run_id} is ${status}`);
  };
  try {
    await oneRun();
    const before = await counters(server, settings);
    for (let nth = 0; nth < runs; nth++) await oneRun();
    const after = await counters(server, settings);
    const each = (name: keyof Cost): number => (after[name] - before[name]) / runs;
    return {
      hostSeconds: each('hostSeconds'),
      databaseSeconds: each('databaseSeconds'),
      flushes: each('flushes'),
      logBytes: each('logBytes'),
      storedBytes: each('storedBytes'),
    };
  } finally {
    await world.close();
  }
}

async function counters(server: PostgresServer, settings: PostgresSettings): Promise<Cost> {
  const hostSeconds = secondsOf('self', true);
  // Sessions report to the statistics when they have been idle for a while.
  await setTimeout(1_500);
  const [row] = await server.ask<Record<'pid' | 'flushes' | 'log_bytes' | 'stored_bytes', string>>(
    settings,
    `SELECT pg_backend_pid() AS pid, wal_sync AS flushes, wal_bytes AS log_bytes,
      (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)
        AS stored_bytes
    FROM pg_stat_wal`,
  );
  return {
    hostSeconds,
    databaseSeconds: secondsOfFamily(Number(statOf(String(row!.pid))[1])),
    flushes: Number(row!.flushes),
    logBytes: Number(row!.log_bytes),
    storedBytes: Number(row!.stored_bytes),
  };
}

async function commitsPerSecond(server: PostgresServer, settings: PostgresSettings): Promise<number> {
  await server.ask(settings, 'CREATE TABLE bare (line text)');
  // One session: each commit waits for the disk.
  const work = "DO $$ BEGIN FOR nth IN 1..500 LOOP INSERT INTO bare VALUES ('x'); COMMIT; END LOOP; END $$";
  const began = performance.now();
  await server.ask(settings, work);
  return 500 / ((performance.now() - began) / 1000);
}

/** From the state on, as proc(5) counts: state, parent, … */
function statOf(pid: string): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function secondsOf(pid: string, children: boolean): number {
  const times = statOf(pid).slice(11, children ? 15 : 13);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
}

/** Of a process, those of its children that ended, and those that run. */
function secondsOfFamily(parent: number): number {
  let seconds = secondsOf(String(parent), true);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      if (Number(statOf(pid)[1]) === parent) seconds += secondsOf(pid, false);
    } catch {
      // It has just ended: its parent counts it with the next reading.
    }
  return seconds;
}

function costTable(cost: Cost, commits: number): string {
  const rows = [
    ['processor of a host, programs that it starts included', `${cost.hostSeconds.toFixed(2)} s`],
    ['processor of the database', `${cost.databaseSeconds.toFixed(2)} s`],
    ['log made durable', `${Math.round(cost.flushes)} times, ${Math.round(cost.logBytes / 1000)} kB`],
    ['rows and indexes that stay', `${Math.round(cost.storedBytes / 1000)} kB`],
    ['for comparison: durable commits of one session here', `${Math.round(commits)} a second`],
  ];
  return table(['One run costs', ''], rows);
}

function loadTable(cost: Cost, commits: number): string {
  const rows = [1_000, 10_000, 100_000, 1_000_000].map((perDay) => {
    const perSecond = (perDay / 86_400) * peak;
    const use = {
      'processors of hosts': (perSecond * cost.hostSeconds) / machine.hostProcessors,
      'processors of the database': (perSecond * cost.databaseSeconds) / machine.databaseProcessors,
      'durable commits': (perSecond * cost.flushes) / commits,
      'space of a year': (perDay * 365 * cost.storedBytes) / machine.storedBytes,
    };
    const full = Object.entries(use).filter(([, part]) => part > fullest);
    return [
      perDay.toLocaleString('en'),
      (perSecond * cost.hostSeconds).toFixed(2),
      (perSecond * cost.databaseSeconds).toFixed(2),
      String(Math.ceil(perSecond * cost.flushes)),
      `${((perDay * 365 * cost.storedBytes) / 1e9).toFixed(1)} GB`,
      full.length === 0
        ? 'nothing'
        : full
            .toSorted(([, one], [, other]) => other - one)
            .map(([name]) => name)
            .join(', '),
    ];
  });
  const titles = ['Runs a day', 'host processors', 'database processors', 'durable commits a second'];
  return table([...titles, 'rows of a year', 'over 70 %, fullest first'], rows);
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return line(titles) + line(titles.map(() => '---')) + rows.map(line).join('');
}
