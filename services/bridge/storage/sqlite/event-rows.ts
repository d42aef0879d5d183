import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { WriteBatch } from '#kit/storage/write-batch.ts';
import {
  type AcceptedEvent,
  judge,
  judgedColumns,
  type Known,
  storedEvent,
  targetKey,
} from '../../queue/accept-event.ts';
import type { EventBacklog, EventRows, PageOfEvents } from '../../queue/event-rows.ts';
import { type NewEvent, type Reason, type StoredEvent, takenUpBySync } from '../../queue/stored-event.ts';
import { type BridgeDatabase, queueError } from './database.ts';

/** Events in `queue.sqlite`. */
export class SqliteEventRows implements EventRows {
  readonly #db: DatabaseSync;
  readonly #batch: WriteBatch;
  readonly #now: () => number;

  constructor({ db, path }: BridgeDatabase, now: () => number) {
    this.#db = db;
    this.#now = now;
    this.#batch = new WriteBatch(db, {
      committed: () => crashPoint('bridge.event_stored'),
      explain: (error) => queueError(error, path),
    });
  }

  accept(event: NewEvent, sameContentMs: number): Promise<AcceptedEvent> {
    return this.#batch.write(() => {
      const now = this.#now();
      const judgement = judge(event, this.#knownOf(event), now - sameContentMs);
      if (judgement.kind === 'repeats') return { event: judgement.event, duplicate: true };
      return { event: this.#store(event, judgement.skip, judgement.before, now), duplicate: false };
    });
  }

  async byId(eventId: string): Promise<StoredEvent | null> {
    return this.#first('WHERE event_id = ?', eventId);
  }

  async ofRun(runId: string): Promise<StoredEvent | null> {
    return this.#first('WHERE run_id = ? ORDER BY seq LIMIT 1', runId);
  }

  async lastOfIssue(target: string): Promise<StoredEvent | null> {
    return this.#last(target, "state <> 'skipped'");
  }

  async processing(targets: readonly [string, string]): Promise<StoredEvent | null> {
    return this.#first("WHERE state = 'processing' AND target IN (?, ?) LIMIT 1", ...targets);
  }

  async page({ state, oldestFirst, after, limit }: PageOfEvents): Promise<readonly StoredEvent[]> {
    const from = after ?? (oldestFirst ? 0 : Number.MAX_SAFE_INTEGER);
    const [than, order] = oldestFirst ? ['>', 'ASC'] : ['<', 'DESC'];
    const listed = `coalesce(target, '') NOT LIKE '${smokeForge.name}/%'`;
    const wanted = state === undefined ? { sql: '', values: [] } : { sql: 'state = ? AND', values: [state] };
    const rest = `WHERE ${wanted.sql} seq ${than} ? AND ${listed} ORDER BY seq ${order} LIMIT ?`;
    return this.#select(rest, ...wanted.values, from, limit);
  }

  async backlog(diedWithinMs: number): Promise<EventBacklog> {
    const now = this.#now();
    const oldest = this.#first("WHERE state = 'pending' ORDER BY seq LIMIT 1");
    const row = this.#db
      .prepare(
        "SELECT count(*) AS n FROM events WHERE state = 'dead' AND changed_at > ? AND state IN ('done', 'skipped', 'dead')",
      )
      .get(now - diedWithinMs);
    return {
      oldestMs: oldest === null ? null : now - oldest.received_at,
      died: (row as { n: number }).n,
    };
  }

  get problem(): unknown {
    return this.#batch.problem;
  }

  #knownOf({ event_id, source, body_sha256, target }: NewEvent): Known {
    const key = target === null ? null : targetKey(target);
    const bySync = `state NOT IN ('skipped', 'dead') AND json_extract(facts, '$.by') = '${takenUpBySync}'`;
    return {
      byId: () => this.#first('WHERE event_id = ?', event_id),
      byBody: () =>
        this.#first(
          "WHERE source = ? AND body_sha256 = ? AND source NOT IN ('dashboard', 'schedule')",
          source,
          body_sha256,
        ),
      lastOfIssue: () => (key === null ? null : this.#last(key, "state <> 'skipped'")),
      takenUp: () => (key === null ? null : this.#last(key, bySync)),
    };
  }

  #store(event: NewEvent, skip: Reason | null, before: StoredEvent | null, now: number): StoredEvent {
    const judged = {
      ...judgedColumns(event, skip),
      changed_at: now,
      due_at: skip === null ? now : null,
    };
    const { event_id, source, body_sha256 } = event;
    const columns = { event_id, source, body_sha256, received_at: now, ...judged };
    const names = Object.keys(columns);
    const [sql, values] =
      before === null
        ? [`INSERT INTO events (${names}) VALUES (${names.map(() => '?')})`, Object.values(columns)]
        : [
            `UPDATE events SET ${Object.keys(judged).map((name) => `${name} = ?`)} WHERE seq = ?`,
            [...Object.values(judged), before.seq],
          ];
    return storedEvent(this.#db.prepare(`${sql} RETURNING *`).get(...values));
  }

  #last(target: string, condition: string): StoredEvent | null {
    const rest = `INDEXED BY events_by_issue WHERE target = ? AND issue_sha256 IS NOT NULL AND ${condition} ORDER BY seq DESC LIMIT 1`;
    return this.#first(rest, target);
  }

  #first(rest: string, ...values: SQLInputValue[]): StoredEvent | null {
    return this.#select(rest, ...values)[0] ?? null;
  }

  /** @param rest of the SQL, after the name of the table */
  #select(rest: string, ...values: SQLInputValue[]): StoredEvent[] {
    return this.#db
      .prepare(`SELECT * FROM events ${rest}`)
      .all(...values)
      .map(storedEvent);
  }
}
