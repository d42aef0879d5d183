import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { outcomeOf } from '#kit/database/commit-unknown.ts';
import { type Database, rowLock, type Sql } from '#kit/database/database.ts';
import { sha256 } from '#kit/digest.ts';
import { replaceFile, writeAll } from '#kit/durable-file.ts';
import { Failed, Unavailable } from '#kit/errors.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';

/** Where large artifacts go. */
export interface RunObjects {
  readonly store: ObjectStore;
  /** Minimum size of an artifact in the bucket; smaller artifacts stay in the database. */
  readonly minBytes: number;
}

interface ArtifactRow {
  readonly content: Uint8Array | null;
  /** Name of its object in the bucket; null if the content is in the row. */
  readonly object: string | null;
}

/** Artifacts of runs by their digests, in rows or in objects of a bucket that rows name. */
export class RunArtifacts {
  readonly #database: Database;
  readonly #objects: RunObjects | null;

  constructor(database: Database, objects: RunObjects | null) {
    this.#database = database;
    this.#objects = objects;
  }

  /** @returns false if the run is missing or pruned */
  async put(runId: string, content: Uint8Array): Promise<boolean> {
    const objects = this.#objects;
    if (objects === null || content.byteLength < objects.minBytes) return this.#putRow(runId, content);
    return this.#putObject(objects.store, runId, content);
  }

  /** Content as stored, sound or not; null if nothing is stored. */
  async read(runId: string, digest: string): Promise<Uint8Array | null> {
    for (let before: string | null = null; ; ) {
      const row = await rowOf(this.#database, runId, digest);
      if (row === null || row.object === null) return row?.content ?? null;
      const pieces = await this.#store(row.object).get(row.object);
      if (pieces !== null) return await buffer(pieces);
      // The object may have been replaced since its name was read.
      if (row.object === before) return null;
      before = row.object;
    }
  }

  /** Digests of the artifacts of a run. */
  async names(runId: string): Promise<readonly string[]> {
    const rows = await this.#database.query<{ digest: string }>(
      'SELECT digest FROM run_artifacts WHERE run_id = $1 ORDER BY digest',
      [runId],
    );
    return rows.map(({ digest }) => digest);
  }

  /** sha256 of each artifact's stored content, by the digest that names it; null if its object is missing. */
  async digests(runId: string): Promise<ReadonlyMap<string, string | null>> {
    const found = new Map<string, string | null>();
    for (const digest of await this.names(runId)) {
      const row = await rowOf(this.#database, runId, digest);
      if (row?.object != null) found.set(digest, await this.#digestOf(row.object));
      else if (row !== null) found.set(digest, sha256(row.content!));
    }
    return found;
  }

  async remove(runId: string, digests: readonly string[]): Promise<void> {
    await outcomeOf(() =>
      this.#database.transaction(async (sql) => {
        for (const digest of digests) {
          await releaseObjects(sql, runId, digest, '');
          await sql.query('DELETE FROM run_artifacts WHERE run_id = $1 AND digest = $2', [runId, digest]);
        }
      }),
    );
  }

  /** Writes the content as stored, sound or not; writes no file if nothing is stored. */
  async write(runId: string, digest: string, path: string): Promise<void> {
    const row = await rowOf(this.#database, runId, digest);
    if (row === null) return;
    if (row.object === null) return replaceFile(path, row.content!);
    const pieces = await this.#store(row.object).get(row.object);
    if (pieces !== null) await writePieces(path, pieces);
  }

  async #putRow(runId: string, content: Uint8Array): Promise<boolean> {
    const digest = sha256(content);
    return outcomeOf(() =>
      this.#database.transaction(async (sql) => {
        if (!(await lockKept(sql, runId))) return false;
        await releaseObjects(sql, runId, digest, '');
        await sql.query(
          `INSERT INTO run_artifacts (run_id, digest, content) VALUES ($1, $2, $3)
           ON CONFLICT (run_id, digest) DO UPDATE SET content = excluded.content, object = NULL`,
          [runId, digest, content],
        );
        return true;
      }),
    );
  }

  /** Stores the object and reads it back before a row names it. Keeps an existing object that is not damaged. */
  async #putObject(store: ObjectStore, runId: string, content: Uint8Array): Promise<boolean> {
    const digest = sha256(content);
    const before = await rowOf(this.#database, runId, digest);
    if (before !== null && before.object !== null && (await this.#digestOf(before.object)) === digest)
      return true;
    const object = `runs/${runId}/${digest}-${randomUUID()}`;
    const begun = await this.#database.write(
      `INSERT INTO run_objects (object, run_id, bytes, state, begun_at)
       SELECT $2, run_id, $3, 'begun', core_clock_ms() FROM runs WHERE run_id = $1 AND tombstone IS NULL RETURNING 1 AS begun`,
      [runId, object, content.byteLength],
    );
    if (begun.length === 0) return false;
    await store.put(object, content);
    const found = await this.#digestOf(object);
    if (found !== digest) throw notKept(store, object, found);
    return outcomeOf(() =>
      this.#database.transaction((sql) => nameObject(sql, { runId, digest, object, store })),
    );
  }

  async #digestOf(object: string): Promise<string | null> {
    const pieces = await this.#store(object).get(object);
    if (pieces === null) return null;
    const hash = createHash('sha256');
    for await (const piece of pieces) hash.update(piece);
    return hash.digest('hex');
  }

  #store(object: string): ObjectStore {
    if (this.#objects !== null) return this.#objects.store;
    throw new Failed(
      'objects_not_configured',
      `${object} is in a bucket, and storage.s3.bucket is null on this host`,
      {
        facts: { object },
        hint: 'Give every host the same storage.s3 in core.json.',
      },
    );
  }
}

/** Safe to repeat after a commit whose answer was lost. @returns false if the run was pruned meanwhile */
async function nameObject(
  sql: Sql,
  { runId, digest, object, store }: { runId: string; digest: string; object: string; store: ObjectStore },
): Promise<boolean> {
  if (!(await lockKept(sql, runId))) return false;
  const named = await sql.query(
    "UPDATE run_objects SET state = 'named' WHERE object = $1 AND state <> 'going' RETURNING 1 AS named",
    [object],
  );
  if (named.length === 0)
    throw new Unavailable(
      'objects_unavailable',
      `${store.name} took so long for ${object} that it was given up`,
      {
        facts: { objects: store.name, object },
        hint: 'Try again.',
      },
    );
  await releaseObjects(sql, runId, digest, object);
  await sql.query(
    `INSERT INTO run_artifacts (run_id, digest, object) VALUES ($1, $2, $3)
     ON CONFLICT (run_id, digest) DO UPDATE SET content = NULL, object = excluded.object`,
    [runId, digest, object],
  );
  return true;
}

/** Prevents pruning of a run until the transaction ends. @returns false if the run is missing or pruned */
async function lockKept(sql: Sql, runId: string): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 AS kept FROM runs WHERE run_id = $1 AND tombstone IS NULL ${rowLock(sql, 'FOR SHARE')}`,
    [runId],
  );
  return rows.length > 0;
}

/** Marks the former object of an artifact for deletion by the next pruning. @param next new object; empty if there is none */
async function releaseObjects(sql: Sql, runId: string, digest: string, next: string): Promise<void> {
  await sql.query(
    `UPDATE run_objects SET state = 'going'
     WHERE object <> $3 AND object IN (SELECT object FROM run_artifacts WHERE run_id = $1 AND digest = $2)`,
    [runId, digest, next],
  );
}

function notKept(store: ObjectStore, object: string, found: string | null): Failed {
  const what = found === null ? 'is not there' : `has the sha256 ${found}`;
  return new Failed(
    'object_not_kept',
    `${store.name} acknowledged ${object}, which ${what}; nothing names it`,
    {
      facts: { objects: store.name, object },
      hint: 'It does not keep what it acknowledges, or something on the way changes it. Use another server or endpoint.',
    },
  );
}

async function rowOf(sql: Sql, runId: string, digest: string): Promise<ArtifactRow | null> {
  const [row] = await sql.query<ArtifactRow>(
    'SELECT content, object FROM run_artifacts WHERE run_id = $1 AND digest = $2',
    [runId, digest],
  );
  return row ?? null;
}

async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  const fd = openSync(partial, 'wx', 0o600);
  try {
    for await (const piece of pieces) writeAll(fd, piece);
    fsyncSync(fd);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}
