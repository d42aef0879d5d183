import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { EventState } from '#kit/contracts/bridge/events.ts';
import type { Database } from '#kit/database/database.ts';
import type { ColumnTypes } from '#kit/database/schema.ts';
import { type JobTable, jobColumns, jobIndexes } from '#kit/jobs/database-jobs.ts';
import { type AcceptedEvent, storedEvent } from './accept-event.ts';
import { Arrivals } from './arrivals.ts';
import type { NewEvent, StoredEvent } from './stored-event.ts';

/** Pending events and recent failures. */
export interface EventBacklog {
  /** Age of the oldest pending event, in milliseconds; null if none is pending. */
  readonly oldestMs: number | null;
  readonly died: number;
}

export interface PageOfEvents {
  /** Left out: of any state. */
  readonly state: EventState | undefined;
  /** Ascending by `seq`, else descending. */
  readonly oldestFirst: boolean;
  /** `seq` of the last event of the page before; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
}

/**
 * Events in the order of arrival. `turn` counts the events of an issue, so that two bridges cannot both add the next one unseen.
 * Times are milliseconds since 1970, by the clock of the database.
 */
export function eventTables(types: ColumnTypes): string {
  const { text, integer, strict } = types;
  return `
    CREATE TABLE bridge_events (${jobColumns(types)},
      event_id ${text} NOT NULL UNIQUE,
      source ${text} NOT NULL,
      body_sha256 ${text} NOT NULL,
      issue_sha256 ${text},
      facts ${text} NOT NULL,
      target ${text},
      turn ${integer},
      taken_up_by_sync ${integer} NOT NULL,
      forge ${text},
      owner ${text},
      repo ${text},
      occurred_at ${integer},
      received_at ${integer} NOT NULL,
      generation ${integer} NOT NULL DEFAULT 0,
      run_id ${text},
      UNIQUE (target, turn)
    )${strict};
    ${jobIndexes('bridge_events')}
    -- A forge signs no time: two of its deliveries with the same body are one event, whatever their ids.
    CREATE UNIQUE INDEX bridge_events_bodies ON bridge_events (source, body_sha256)
      WHERE source NOT IN ('dashboard', 'schedule');
    -- One event of an issue is planned at a time, however many bridges claim.
    CREATE UNIQUE INDEX bridge_events_processing ON bridge_events (target) WHERE state = 'processing';
    CREATE INDEX bridge_events_by_state ON bridge_events (state, seq);
    CREATE INDEX bridge_events_by_run ON bridge_events (run_id) WHERE run_id IS NOT NULL;
    CREATE INDEX bridge_events_by_issue ON bridge_events (target, seq) WHERE issue_sha256 IS NOT NULL;
    CREATE INDEX bridge_events_ended ON bridge_events (state, changed_at) WHERE state IN ('done', 'skipped', 'dead');`;
}

/** Jobs of events: one event of an issue is planned at a time; an event that is revived gets a new run. */
export const eventTable: JobTable = {
  name: 'bridge_events',
  ready: "target NOT IN (SELECT target FROM bridge_events WHERE state = 'processing')",
  revived: 'generation = generation + CASE WHEN run_id IS NULL THEN 0 ELSE 1 END, run_id = NULL',
};

/** Events of the queue. Their jobs are in the same rows. */
export class EventRows {
  readonly #database: Pick<Database, 'query' | 'write'>;
  readonly #arrivals: Arrivals;

  constructor(database: Pick<Database, 'query' | 'write'>) {
    this.#database = database;
    this.#arrivals = new Arrivals(database);
  }

  /**
   * Stores an event, or finds the one that it repeats; durable when it resolves.
   * @param sameContentMs for so long after its planning an issue that says the same is not planned again
   * @throws Conflict (`event_id_reused`), Unavailable
   */
  accept(event: NewEvent, sameContentMs: number): Promise<AcceptedEvent> {
    return this.#arrivals.accept(event, sameContentMs);
  }

  byId(eventId: string): Promise<StoredEvent | null> {
    return this.#first('event_id = $1', [eventId]);
  }

  ofRun(runId: string): Promise<StoredEvent | null> {
    return this.#first('run_id = $1 ORDER BY seq LIMIT 1', [runId]);
  }

  /** The newest event of an issue, of those that contain all that it says and were not skipped. */
  lastOfIssue(target: string): Promise<StoredEvent | null> {
    const rest = "target = $1 AND issue_sha256 IS NOT NULL AND state <> 'skipped' ORDER BY seq DESC LIMIT 1";
    return this.#first(rest, [target]);
  }

  /** One of these issues that is processed. */
  processing(targets: readonly [string, string]): Promise<StoredEvent | null> {
    return this.#first("state = 'processing' AND target IN ($1, $2) LIMIT 1", targets);
  }

  /** Without those of smoke tests: they are found by their ids alone. */
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

  /** @param diedWithinMs only events that died within this time are counted */
  async backlog(diedWithinMs: number): Promise<EventBacklog> {
    const [row] = await this.#database.query<{ oldest: number | null; died: number }>(
      `SELECT
        (SELECT core_clock_ms() - received_at FROM bridge_events WHERE state = 'pending' ORDER BY seq LIMIT 1) AS oldest,
        (SELECT count(*) FROM bridge_events WHERE state = 'dead' AND state IN ('done', 'skipped', 'dead')
          AND changed_at > (SELECT core_clock_ms()) - $1) AS died`,
      [diedWithinMs],
    );
    return { oldestMs: row!.oldest, died: row!.died };
  }

  /** Reason why no event can be stored; null if events can be stored. */
  get problem(): unknown {
    return this.#arrivals.problem;
  }

  async #first(rest: string, values: readonly unknown[]): Promise<StoredEvent | null> {
    return (await this.#select(rest, values))[0] ?? null;
  }

  /** @param rest of the SQL, after WHERE */
  async #select(rest: string, values: readonly unknown[]): Promise<StoredEvent[]> {
    return (await this.#database.query(`SELECT * FROM bridge_events WHERE ${rest}`, values)).map(storedEvent);
  }
}
