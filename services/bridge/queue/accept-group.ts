import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { crashPoint } from '#kit/crash-point.ts';
import { Conflict } from '#kit/errors.ts';
import type { EventRows } from './event-rows.ts';
import { storageError } from './storage-error.ts';
import type { NewEvent, Reason, StoredEvent } from './stored-event.ts';

export interface AcceptedEvent {
  readonly event: StoredEvent;
  /** It was here before. */
  readonly duplicate: boolean;
}

interface Waiting {
  readonly event: NewEvent;
  readonly resolve: (accepted: AcceptedEvent) => void;
  readonly reject: (error: unknown) => void;
}

/** So many events are one commit at most, that others get their turn. */
const largestGroup = 500;

/** Writes the events that arrive in one turn of the event loop in one commit, made before any of them is answered. */
export class AcceptGroup {
  readonly #db: DatabaseSync;
  readonly #rows: EventRows;
  readonly #path: string;
  readonly #now: () => number;
  readonly #sameContentMs: number;
  #waiting: Waiting[] = [];
  /** Why the last commit failed; null after one that did not. */
  problem: unknown = null;

  constructor(parts: {
    db: DatabaseSync;
    rows: EventRows;
    path: string;
    now: () => number;
    sameContentMs: number;
  }) {
    this.#sameContentMs = parts.sameContentMs;
    this.#db = parts.db;
    this.#rows = parts.rows;
    this.#path = parts.path;
    this.#now = parts.now;
  }

  /** Resolves when the event is on the disk. @throws Conflict (`event_id_reused`), Unavailable (`disk_full`) */
  add(event: NewEvent): Promise<AcceptedEvent> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#commit());
    });
  }

  #commit(): void {
    const group = this.#waiting.slice(0, largestGroup);
    this.#waiting = this.#waiting.slice(largestGroup);
    if (this.#waiting.length > 0) setImmediate(() => this.#commit());
    let outcomes: (AcceptedEvent | Error)[];
    try {
      outcomes = this.#write(group.map(({ event }) => event));
      this.problem = null;
    } catch (error) {
      this.problem = error;
      const told = storageError(error, this.#path);
      for (const { reject } of group) reject(told);
      return;
    }
    crashPoint('bridge.event_stored');
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index]!;
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    }
  }

  #write(events: readonly NewEvent[]): (AcceptedEvent | Error)[] {
    const now = this.#now();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const outcomes = events.map((event) => this.#acceptOne(event, now));
      this.#db.exec('COMMIT');
      return outcomes;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #acceptOne(event: NewEvent, now: number): AcceptedEvent | Error {
    const known = this.#rows.byId(event.event_id);
    if (known !== null && !isSame(known, event)) return reused(known);
    const before = known ?? this.#rows.byBody(event.source, event.body_sha256);
    if (before !== null && !isJudgedAnew(before, event)) return { event: before, duplicate: true };
    const stored = { ...event, skip: event.skip ?? this.#covered(event, now) };
    const kept = before === null ? this.#rows.insert(stored, now) : this.#rows.replace(before, stored, now);
    return { event: kept, duplicate: false };
  }

  #covered(event: NewEvent, now: number): Reason | null {
    const taken = this.#rows.takenUpBefore(event);
    if (taken !== null) {
      const message = `what it tells was taken up before it came, by event ${JSON.stringify(taken.event_id)}`;
      return { code: takenUp, message };
    }
    const covering = this.#rows.coveringOf(event, now - this.#sameContentMs);
    return covering === null ? null : coveredBy(covering);
  }
}

/** What was skipped and would be planned by now, since a forge, a role or a status was configured meanwhile. */
function isJudgedAnew(before: StoredEvent, given: NewEvent): boolean {
  return (
    before.state === 'skipped' &&
    given.skip === null &&
    ![sameContent, takenUp].includes(before.reason?.code ?? '')
  );
}

const sameContent = 'same_content';
const takenUp = 'taken_up';

function coveredBy({ event_id, run_id }: StoredEvent): Reason {
  const run = run_id === null ? 'is planned for both' : `was planned by ${run_id}`;
  return {
    code: sameContent,
    message: `the issue says what it said in event ${JSON.stringify(event_id)}, which ${run}`,
  };
}

/** Told by the bytes, else by what they say; how it is judged may have changed since. What a schedule found is the same as long as its id is: it names the update. */
function isSame(known: StoredEvent, given: NewEvent): boolean {
  if (known.source !== given.source) return false;
  if (known.body_sha256 === given.body_sha256 || given.source === 'schedule') return true;
  if (!isDeepStrictEqual(known.content, given.content)) return false;
  return known.state === 'skipped' || isDeepStrictEqual(judged(known), judged(given));
}

function judged({ target, role }: Pick<NewEvent, 'target' | 'role'>): unknown {
  return { target, role };
}

function reused({ event_id }: StoredEvent): Conflict {
  return new Conflict(
    'event_id_reused',
    `event ${JSON.stringify(event_id)} came before with another content: an id names one event for good`,
    { facts: { event_id } },
  );
}
