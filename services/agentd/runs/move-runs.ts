import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crashPoint } from '#kit/crash-point.ts';
import { decode } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { Conflict, messageOf, Unavailable } from '#kit/errors.ts';
import { requireNoHolder } from '#kit/storage/lease.ts';
import { type Compared, differs, type MoveOptions, type MovePart } from '#kit/storage-move/part.ts';
import { RunIndex } from './index/run-index.ts';
import { beforeFirst, soundEvents } from './log/event-line.ts';
import { fold } from './log/fold.ts';
import { cutProblem, Heads } from './log/heads.ts';
import { missingLogProblem, readTombstone, Tombstone } from './log/open-runs.ts';
import { artifactsName, isRunId, logName, runsWithHead, tombstoneName } from './log/run-folder.ts';
import { writeMirror } from './rows/mirror.ts';
import { putRun, putTombstone, removeRows } from './rows/moved-rows.ts';
import type { RunArtifacts } from './rows/run-artifacts.ts';
import { valuesOf } from './rows/run-rows.ts';
import { linesOf } from './rows/stored-runs.ts';
import { removeAllButTombstone } from './prune.ts';

/** What is compared of a run, on either side. */
interface Fingerprint {
  readonly head: { readonly seq: number; readonly hash: string };
  /** sha256 of `events.jsonl`; of a pruned run, its tombstone. */
  readonly log: string | Tombstone;
  /** sha256 of each by the name that it has. */
  readonly artifacts: Readonly<Record<string, string>>;
}

/**
 * Runs with their heads, artifacts and tombstones. Whoever appends to a run waits until the part is closed: it holds the append
 * lock of all runs. On the way to files each run gets the folder that a host that worked on it has.
 * @throws Conflict (`lease_held`) while a process plans, executes or undoes a run
 */
export async function runsPart(options: MoveOptions, contents: RunArtifacts): Promise<MovePart> {
  const { to, database, folders } = options;
  const runsDir = join(folders.state, 'runs');
  const heads = new Heads(folders.state);
  const index = existsSync(runsDir) ? new RunIndex(folders.state) : null;
  try {
    index?.db.exec('BEGIN IMMEDIATE');
    if (index !== null) requireNoHolder(index.db);
  } catch (error) {
    await close();
    throw error;
  }
  return { name: 'runs', count, prepare, copy, compare, foreignFiles, close };

  function inFiles(): string[] {
    const named = existsSync(runsDir) ? readdirSync(runsDir).filter(isRunId) : [];
    return [...new Set([...named, ...runsWithHead(folders.state)])].sort().filter(isRun);
  }

  /** A head without an event and without a folder was left by a creation that was cut off. */
  function isRun(runId: string): boolean {
    if (existsSync(join(runsDir, runId))) return true;
    return unlessUnreadable(() => heads.read(runId)?.acknowledged.seq ?? 0, 1) > 0;
  }

  async function inDatabase(): Promise<string[]> {
    const rows = await database.query<{ run_id: string }>('SELECT run_id FROM runs ORDER BY run_id');
    return rows.map(({ run_id }) => run_id);
  }

  async function count(): Promise<number> {
    return (to === 'postgres' ? inFiles() : await inDatabase()).length;
  }

  /** @throws Conflict (`run_not_whole`) naming runs that would not arrive as they were acknowledged; Unavailable */
  async function prepare(): Promise<void> {
    const problems: string[] = [];
    const source = to === 'postgres' ? inFiles() : await inDatabase();
    for (const runId of source) {
      try {
        if (to === 'postgres') readFolder(runId);
        else await readRows(runId);
      } catch (error) {
        // What does not answer says nothing of the run.
        if (error instanceof Unavailable) throw error;
        problems.push(`${runId}: ${messageOf(error)}`);
      }
    }
    if (problems.length > 0) throw notWhole(problems);
    if (to === 'postgres') return;
    const known = new Set(source);
    const unknown = inFiles().filter((runId) => !known.has(runId));
    if (unknown.length === 0) return;
    throw new Conflict(
      'storage_target_not_empty',
      `${runsDir} has ${unknown.length} runs that ${database.name} does not have: ${unknown.slice(0, 3).join(', ')}`,
      {
        facts: { runs: unknown.slice(0, 100) },
        hint: 'If the database is older than these, restore a later backup of it; else move their folders and heads away.',
      },
    );
  }

  async function copy(done: (entries: number) => void): Promise<void> {
    if (to === 'postgres') {
      const there = new Set(await inDatabase());
      for (const runId of inFiles()) {
        there.delete(runId);
        await putRows(runId);
        crashPoint('storage.run_moved');
        done(1);
      }
      for (const runId of there) await database.transaction((sql) => removeRows(sql, runId));
      return;
    }
    for (const runId of await inDatabase()) {
      await putFolder(runId);
      crashPoint('storage.run_moved');
      done(1);
    }
  }

  async function compare(done: (entries: number) => void): Promise<Compared> {
    const hash = createHash('sha256');
    const [files, rows] = [inFiles(), await inDatabase()];
    const [first] = [...new Set([...files, ...rows])].filter(
      (id) => files.includes(id) !== rows.includes(id),
    );
    if (first !== undefined) throw differs('runs', `${first} is on one side alone`);
    for (const runId of files) {
      const [own, there] = [JSON.stringify(readFolder(runId)), JSON.stringify(await readRows(runId))];
      if (own !== there)
        throw differs(
          'runs',
          `${runId} is not the same in files and in the database: ${own.slice(0, 200)} and ${there.slice(0, 200)}`,
        );
      hash.update(`${own}\n`);
      done(1);
    }
    return { entries: files.length, sha256: hash.digest('hex') };
  }

  /** Runs that the database has, too, are mirrors; `prepare` names others. */
  async function foreignFiles(): Promise<null> {
    return null;
  }

  async function close(): Promise<void> {
    if (index === null) return;
    if (index.db.isTransaction) index.db.exec('ROLLBACK');
    index.close();
  }

  /** @throws where the record does not hold what was acknowledged */
  function readFolder(runId: string): Fingerprint {
    const folder = join(runsDir, runId);
    const known = heads.read(runId);
    const path = join(folder, logName);
    if (!existsSync(path)) {
      const problem = missingLogProblem(runsDir, runId, known);
      if (problem !== null) throw problem;
      const tombstone = readTombstone(folder);
      if (tombstone === null)
        throw new Conflict('run_not_whole', `${folder} is no run: it has no ${logName}`);
      return {
        head: { seq: tombstone.events, hash: tombstone.head },
        log: inOrder(tombstone),
        artifacts: {},
      };
    }
    const { log, torn, head } = soundLog(runId, readFileSync(path));
    const artifacts = new Map(artifactsIn(folder).map(([name, content]) => [name, sha256(content)]));
    if (torn.length > 0) artifacts.set(sha256(torn), sha256(torn));
    return { head, log: sha256(log), artifacts: sorted(artifacts) };
  }

  /** @throws where the log does not hold, or not what was acknowledged */
  function soundLog(runId: string, bytes: Buffer) {
    const { events, length, problem } = soundEvents(bytes);
    if (problem !== null) throw problem;
    const { seq, hash } = events.at(-1) ?? beforeFirst;
    if (seq === 0) throw new Conflict('run_not_whole', `${logName} holds no event`);
    const run = fold(runId, events);
    const cut = cutProblem(runId, heads.read(runId), {
      head: run.head,
      headKept: run.head_kept,
      hashOf: (at) => events[at - 1]?.hash ?? beforeFirst.hash,
    });
    if (cut !== null) throw new Conflict('run_not_whole', cut);
    const [log, torn] = [bytes.subarray(0, length), bytes.subarray(length)];
    return { events, run, log, torn, head: { seq, hash } };
  }

  async function readRows(runId: string): Promise<Fingerprint> {
    const [row] = await database.query<{ seq: number; hash: string; tombstone: unknown }>(
      'SELECT seq, hash, tombstone FROM runs WHERE run_id = $1',
      [runId],
    );
    const head = { seq: row!.seq, hash: row!.hash };
    if (row!.tombstone !== null) {
      const tombstone = inOrder(decode(Tombstone, row!.tombstone, `tombstone of ${runId}`));
      return { head: { seq: tombstone.events, hash: tombstone.head }, log: tombstone, artifacts: {} };
    }
    const lines = await linesOf(database, runId);
    const log = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const { events, problem } = soundEvents(log);
    if (problem !== null) throw problem;
    const last = events.at(-1) ?? beforeFirst;
    if (last.seq !== head.seq || last.hash !== head.hash)
      throw new Conflict(
        'run_not_whole',
        `its events end with ${last.seq}, and event ${head.seq}, hash ${head.hash.slice(0, 12)}, was acknowledged`,
      );
    return { head, log: sha256(log), artifacts: sorted(await contents.digests(runId)) };
  }

  async function putRows(runId: string): Promise<void> {
    const wanted = JSON.stringify(readFolder(runId));
    const isThere = await database.query('SELECT 1 FROM runs WHERE run_id = $1', [runId]);
    if (isThere.length > 0 && (await unlessWrong(() => readRows(runId))) === wanted) return;
    const folder = join(runsDir, runId);
    await database.transaction(async (sql) => {
      await removeRows(sql, runId);
      if (!existsSync(join(folder, logName))) return putTombstone(sql, inOrder(readTombstone(folder)!));
      const path = join(folder, logName);
      const { run, events, log, torn, head } = soundLog(runId, readFileSync(path));
      await putRun(sql, {
        ...{ runId, head, type: events.at(-1)!.type, changedAt: statSync(path).mtime, tombstone: null },
        values: valuesOf(run, log.length),
      });
      await sql.query(
        `INSERT INTO run_events (run_id, seq, line, prev, hash)
         SELECT $1, * FROM unnest($2::int[], $3::text[], $4::text[], $5::text[])`,
        [
          runId,
          events.map(({ seq }) => seq),
          log.toString('utf8').split('\n').slice(0, -1),
          events.map(({ prev }) => prev),
          events.map(({ hash }) => hash),
        ],
      );
      const artifacts = new Map(artifactsIn(folder));
      if (torn.length > 0) artifacts.set(sha256(torn), torn);
      for (const [digest, content] of artifacts)
        await sql.query('INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3)', [
          ...[runId, digest],
          content,
        ]);
    });
  }

  async function putFolder(runId: string): Promise<void> {
    const { head, log } = await readRows(runId);
    if (typeof log === 'string') {
      await writeMirror(database, contents, { stateDir: folders.state, runId, rewrite: true });
      return;
    }
    const folder = join(runsDir, runId);
    makePrivateFolder(folder);
    writeFileDurably(join(folder, tombstoneName), `${JSON.stringify(log, null, 2)}\n`);
    heads.acknowledge(runId, { ...head, type: '' }, true);
    heads.sync(runId);
    removeAllButTombstone(folder, false);
  }
}

function artifactsIn(folder: string): [string, Buffer][] {
  const path = join(folder, artifactsName);
  const names = existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{64}$/.test(name)) : [];
  return names.map((name) => [name, readFileSync(join(path, name))]);
}

function sorted(entries: Iterable<readonly [string, string]>): Record<string, string> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Its members as a pruning writes them. */
function inOrder({
  run_id,
  head,
  events,
  status,
  pruned_at,
  forge,
  owner,
  repo,
  number,
}: Tombstone): Tombstone {
  return { run_id, head, events, status, pruned_at, forge, owner, repo, number };
}

function unlessUnreadable<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** What cannot be read there is written again. */
async function unlessWrong(work: () => Promise<Fingerprint>): Promise<string | null> {
  try {
    return JSON.stringify(await work());
  } catch {
    return null;
  }
}

function notWhole(problems: readonly string[]): Conflict {
  const more = problems.length > 3 ? ` (and ${problems.length - 3} more)` : '';
  return new Conflict(
    'run_not_whole',
    `${problems.length} of the runs cannot be moved as they were acknowledged: ${problems.slice(0, 3).join('; ')}${more}`,
    {
      facts: { problems: problems.slice(0, 100) },
      hint: './core verify RUN says what was changed, ./core recover RUN how to go on; a folder that is no run can be moved away.',
    },
  );
}
