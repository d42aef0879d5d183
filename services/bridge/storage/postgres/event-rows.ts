import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { Database } from '#kit/database/database.ts';
import { postgresText } from '#kit/database/postgres-text.ts';
import { type AcceptedEvent, storedEvent } from '../../queue/accept-event.ts';
import type { EventBacklog, EventRows, PageOfEvents } from '../../queue/event-rows.ts';
import type { NewEvent, StoredEvent } from '../../queue/stored-event.ts';
import { Arrivals } from './arrivals.ts';

interface Found {
  readonly row: unknown;
}

/** Events in the database that several bridges share. */
export class PostgresEventRows implements EventRows {
  readonly #database: Pick<Database, 'query'>;
  readonly #arrivals: Arrivals;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
    this.#arrivals = new Arrivals(database);
  }

  accept(event: NewEvent, sameContentMs: number): Promise<AcceptedEvent> {
    return this.#arrivals.accept(event, sameContentMs);
  }

  byId(eventId: string): Promise<StoredEvent | null> {
    return this.#first('event_id = $1', [postgresText(eventId)]);
  }

  ofRun(runId: string): Promise<StoredEvent | null> {
    return this.#first('run_id = $1 ORDER BY seq LIMIT 1', [postgresText(runId)]);
  }

  lastOfIssue(target: string): Promise<StoredEvent | null> {
    const rest = "target = $1 AND issue_sha256 IS NOT NULL AND state <> 'skipped' ORDER BY seq DESC LIMIT 1";
    return this.#first(rest, [postgresText(target)]);
  }

  processing(targets: readonly [string, string]): Promise<StoredEvent | null> {
    return this.#first("state = 'processing' AND target = ANY($1::text[]) LIMIT 1", [
      targets.map(postgresText),
    ]);
  }

  page({ state, oldestFirst, after, limit }: PageOfEvents): Promise<readonly StoredEvent[]> {
    const from = after ?? (oldestFirst ? 0 : Number.MAX_SAFE_INTEGER);
    const [than, order] = oldestFirst ? ['>', 'ASC'] : ['<', 'DESC'];
    const listed = `coalesce(target, '') NOT LIKE '${smokeForge.name}/%'`;
    const wanted = state === undefined ? '' : 'state = $3 AND';
    return this.#select(
      `${wanted} seq ${than} $1 AND ${listed} ORDER BY seq ${order} LIMIT $2`,
      state === undefined ? [from, limit] : [from, limit, state],
    );
  }

  async backlog(diedWithinMs: number): Promise<EventBacklog> {
    const [row] = await this.#database.query<{ oldest: string | null; died: string }>(
      `SELECT
        (SELECT core_clock_ms() - received_at FROM bridge_events WHERE state = 'pending' ORDER BY seq LIMIT 1) AS oldest,
        (SELECT count(*) FROM bridge_events WHERE state = 'dead' AND state IN ('done', 'skipped', 'dead')
          AND changed_at > (SELECT core_clock_ms()) - $1::bigint) AS died`,
      [diedWithinMs],
    );
    const oldest = row?.oldest ?? null;
    return { oldestMs: oldest === null ? null : Number(oldest), died: Number(row?.died ?? 0) };
  }

  get problem(): unknown {
    return this.#arrivals.problem;
  }

  async #first(rest: string, values: readonly unknown[]): Promise<StoredEvent | null> {
    return (await this.#select(rest, values))[0] ?? null;
  }

  /** @param rest of the SQL, after WHERE */
  async #select(rest: string, values: readonly unknown[]): Promise<StoredEvent[]> {
    const sql = `SELECT to_jsonb(bridge_events.*) AS row FROM bridge_events WHERE ${rest}`;
    return (await this.#database.query<Found>(sql, values)).map(({ row }) => storedEvent(row));
  }
}
