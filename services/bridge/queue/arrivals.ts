import { inBackground } from '#kit/callbacks.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { type Database, places, valuesTable } from '#kit/database/database.ts';
import { isUniqueViolation } from '#kit/database/errors.ts';
import { postgresText } from '#kit/database/postgres-text.ts';
import { CoreError, Unavailable } from '#kit/errors.ts';
import {
  type AcceptedEvent,
  type Judgement,
  judge,
  judgedColumns,
  type Known,
  storedEvent,
  targetKey,
} from './accept-event.ts';
import { type NewEvent, type StoredEvent, takenUpBySync } from './stored-event.ts';

interface Answer {
  resolve(accepted: AcceptedEvent): void;
  reject(error: unknown): void;
}

/** An event, and all who sent it and wait for an answer: none is left where all got the answer that it was not stored. */
interface Waiting {
  readonly key: string;
  readonly event: NewEvent;
  readonly target: string | null;
  readonly sameContentMs: number;
  readonly answers: Set<Answer>;
}

type NewRow = Extract<Judgement, { kind: 'store' }>;

interface Found {
  readonly now: number;
  readonly turn: number;
  readonly known: Known;
}

/** Numbers of events. */
interface FoundRow {
  readonly now: number;
  readonly turn: number | null;
  readonly by_id: number | null;
  readonly by_body: number | null;
  readonly last: number | null;
  readonly taken_up: number | null;
}

/** Of one commit. */
const maxEvents = 200;
/** Senders of webhooks wait five seconds, or ten. */
const answerMs = 4_000;
const problemMs = 10_000;

/**
 * Stores what arrives. What comes while a commit is in progress shares the next one. No transaction is open between two statements, so
 * that a bridge that stops anywhere blocks no other one; what another bridge stored since is noticed by the unique keys of the
 * table, and judged again.
 */
export class Arrivals {
  readonly #database: Pick<Database, 'query' | 'write'>;
  /** In the order of arrival; whoever sends what waits already, waits with it. */
  #waiting = new Map<string, Waiting>();
  #running = false;
  #problem: { readonly error: unknown; readonly at: number } | null = null;

  constructor(database: Pick<Database, 'query' | 'write'>) {
    this.#database = database;
  }

  /** @throws Conflict (`event_id_reused`), Unavailable (`database_unavailable`), also where it may be stored later */
  accept(given: NewEvent, sameContentMs: number): Promise<AcceptedEvent> {
    const event = { ...given, event_id: postgresText(given.event_id) };
    const key = JSON.stringify([event.event_id, event.source, event.body_sha256]);
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      const target = event.target === null ? null : targetKey(event.target);
      waiting = { key, event, target, sameContentMs, answers: new Set() };
      this.#waiting.set(key, waiting);
    }
    const answered = withLimit(waiting.answers);
    if (!this.#running) inBackground('arriving events', () => this.#run());
    return answered;
  }

  /** Why the last commit failed, for a while: what sends no event to a bridge that is not well would never learn that it is again. */
  get problem(): unknown {
    const recent = this.#problem !== null && performance.now() - this.#problem.at < problemMs;
    return recent ? this.#problem!.error : null;
  }

  async #run(): Promise<void> {
    this.#running = true;
    await new Promise(setImmediate);
    while (this.#waiting.size > 0) {
      const round = this.#nextRound();
      if (round.length === 0) continue;
      try {
        const again = await this.#store(round);
        this.#putBack(again);
        this.#problem = null;
      } catch (error) {
        this.#problem = { error, at: performance.now() };
        for (const one of round) reject(one, error);
      }
    }
    this.#running = false;
  }

  /** Events of which none can repeat another one; the rest waits. */
  #nextRound(): Waiting[] {
    const keys = new Set<string>();
    const round: Waiting[] = [];
    const rest = new Map<string, Waiting>();
    for (const one of this.#waiting.values()) {
      if (one.answers.size === 0) continue;
      const { event_id, source, body_sha256 } = one.event;
      const own = [`id ${event_id}`, `body ${source} ${body_sha256}`, `target ${one.target ?? event_id}`];
      const isFree = round.length < maxEvents && !own.some((key) => keys.has(key));
      // Those behind one of the same issue stay behind it.
      for (const key of own) keys.add(key);
      if (isFree) round.push(one);
      else rest.set(one.key, one);
    }
    this.#waiting = rest;
    return round;
  }

  /** Before all others; with those who sent the same meanwhile. */
  #putBack(again: readonly Waiting[]): void {
    const waiting = new Map(again.map((one) => [one.key, one]));
    for (const [key, one] of this.#waiting) {
      const before = waiting.get(key);
      if (before === undefined) waiting.set(key, one);
      else for (const answer of one.answers) before.answers.add(answer);
    }
    this.#waiting = waiting;
  }

  /** @returns those that another bridge stored something of meanwhile */
  async #store(round: readonly Waiting[]): Promise<Waiting[]> {
    const found = await this.#find(round);
    const fresh: { one: Waiting; row: NewRow; turn: number }[] = [];
    for (const [index, one] of round.entries()) {
      try {
        const { now, turn, known } = found[index]!;
        const judgement = judge(one.event, known, now - one.sameContentMs);
        if (judgement.kind === 'repeats') resolve(one, judgement.event, true);
        else fresh.push({ one, row: judgement, turn });
      } catch (error) {
        if (!(error instanceof CoreError)) throw error;
        reject(one, error);
      }
    }
    const stored = await this.#insert(fresh.filter(({ row }) => row.before === null));
    for (const one of fresh)
      if (one.row.before !== null) stored.set(one.one, await this.#replace(one, one.row.before));
    if (stored.size > 0) crashPoint('bridge.event_stored');
    return fresh.flatMap(({ one }) => {
      const event = stored.get(one) ?? null;
      if (event === null) return [one];
      resolve(one, event, false);
      return [];
    });
  }

  async #find(round: readonly Waiting[]): Promise<Found[]> {
    const wanted = round.map(({ event, target }, nth) => ({ ...event, nth, target }));
    const { text, values } = valuesTable('wanted', wantedColumns, wanted);
    const ofIssue = (condition: string) => `
      (SELECT seq FROM bridge_events AS e WHERE e.target = wanted.target AND e.issue_sha256 IS NOT NULL AND ${condition}
        ORDER BY e.seq DESC LIMIT 1)`;
    const rows = await this.#database.query<FoundRow>(
      `WITH ${text} SELECT core_clock_ms() AS now,
        (SELECT max(turn) FROM bridge_events AS e WHERE e.target = wanted.target) AS turn,
        (SELECT seq FROM bridge_events AS e WHERE e.event_id = wanted.event_id) AS by_id,
        (SELECT seq FROM bridge_events AS e WHERE e.source = wanted.source AND e.body_sha256 = wanted.body_sha256
          AND e.source NOT IN ('dashboard', 'schedule')) AS by_body,
        ${ofIssue("e.state <> 'skipped'")} AS last,
        ${ofIssue("e.state NOT IN ('skipped', 'dead') AND e.taken_up_by_sync = 1")} AS taken_up
      FROM wanted ORDER BY nth`,
      values,
    );
    const events = await this.#read(rows.flatMap((row) => [row.by_id, row.by_body, row.last, row.taken_up]));
    const event = (seq: number | null) => (seq === null ? null : (events.get(seq) ?? null));
    return rows.map(({ now, turn, by_id, by_body, last, taken_up }) => {
      const known = {
        ...{ byId: event(by_id), byBody: event(by_body) },
        ...{ lastOfIssue: event(last), takenUp: event(taken_up) },
      };
      return { now, turn: (turn ?? 0) + 1, known };
    });
  }

  async #read(numbers: readonly (number | null)[]): Promise<ReadonlyMap<number, StoredEvent>> {
    const seqs = [...new Set(numbers)].filter((seq) => seq !== null);
    if (seqs.length === 0) return new Map();
    const rows = await this.#database.query(
      `SELECT * FROM bridge_events WHERE seq IN (${places(seqs)})`,
      seqs,
    );
    return new Map(rows.map(storedEvent).map((event) => [event.seq, event]));
  }

  /** @returns what was stored; what is not in it met another event of its id, its bytes, or its place behind the issue's others */
  async #insert(
    fresh: readonly { one: Waiting; row: NewRow; turn: number }[],
  ): Promise<Map<Waiting, StoredEvent | null>> {
    if (fresh.length === 0) return new Map();
    const given = fresh.map(({ one, row, turn }) => {
      const { event_id, source, body_sha256 } = one.event;
      return { event_id, source, body_sha256, ...columnsOf(one, row, turn) };
    });
    const { text, values } = valuesTable('given', newColumns, given);
    const names = Object.keys(newColumns).join(', ');
    const rows = await this.#database.write(
      `WITH ${text} INSERT INTO bridge_events (${names}, received_at, changed_at, due_at)
      SELECT ${names}, core_clock_ms(), core_clock_ms(), CASE state WHEN 'pending' THEN core_clock_ms() END
      FROM given WHERE true ON CONFLICT DO NOTHING RETURNING *`,
      values,
    );
    const events = new Map(rows.map(storedEvent).map((event) => [event.event_id, event]));
    return new Map(fresh.map(({ one }) => [one, events.get(one.event.event_id) ?? null]));
  }

  /** What was skipped and is judged again keeps its place. */
  async #replace(
    { one, row, turn }: { one: Waiting; row: NewRow; turn: number },
    { seq }: StoredEvent,
  ): Promise<StoredEvent | null> {
    const columns = columnsOf(one, row, turn);
    const set = Object.keys(columns).map((name, index) => `${name} = $${index + 2}`);
    try {
      const [stored] = await this.#database.write(
        `UPDATE bridge_events SET ${set.join(', ')}, changed_at = core_clock_ms(),
          due_at = ${columns.state === 'pending' ? 'core_clock_ms()' : 'NULL'}
        WHERE seq = $1 AND state = 'skipped' RETURNING *`,
        [seq, ...Object.values(columns)],
      );
      return stored === undefined ? null : storedEvent(stored);
    } catch (error) {
      if (isUniqueViolation(error)) return null;
      throw error;
    }
  }
}

const wantedColumns = {
  nth: 'bigint',
  event_id: 'text',
  source: 'text',
  body_sha256: 'text',
  target: 'text',
} as const;

const newColumns = {
  event_id: 'text',
  source: 'text',
  body_sha256: 'text',
  issue_sha256: 'text',
  facts: 'text',
  target: 'text',
  turn: 'bigint',
  taken_up_by_sync: 'bigint',
  forge: 'text',
  owner: 'text',
  repo: 'text',
  occurred_at: 'bigint',
  state: 'text',
  reason_code: 'text',
  reason: 'text',
} as const;

function columnsOf({ event, target }: Waiting, { skip }: NewRow, turn: number) {
  const occurred = Date.parse(event.content.occurred_at);
  const { forge = null, owner = null, repo = null } = event.target ?? {};
  return {
    ...judgedColumns(event, skip),
    turn: target === null ? null : turn,
    taken_up_by_sync: event.by === takenUpBySync ? 1 : 0,
    ...{ forge, owner, repo },
    occurred_at: Number.isNaN(occurred) ? null : occurred,
  };
}

/** Whoever sent the event first has it stored; for others it was here before. */
function resolve({ answers }: Waiting, event: StoredEvent, duplicate: boolean): void {
  let first = true;
  for (const answer of answers) {
    answer.resolve({ event, duplicate: duplicate || !first });
    first = false;
  }
}

function reject({ answers }: Waiting, error: unknown): void {
  for (const answer of answers) answer.reject(error);
}

function withLimit(answers: Set<Answer>): Promise<AcceptedEvent> {
  return new Promise((resolve, reject) => {
    const answer: Answer = {
      resolve(accepted) {
        clearTimeout(timer);
        resolve(accepted);
      },
      reject(error) {
        clearTimeout(timer);
        reject(error);
      },
    };
    const timer = setTimeout(() => {
      answers.delete(answer);
      reject(late());
    }, answerMs);
    answers.add(answer);
  });
}

function late(): Unavailable {
  return new Unavailable(
    'database_unavailable',
    `the database did not store the event within ${answerMs / 1000} s`,
    { retryAfter: 5, hint: 'Send the event again: if it was stored meanwhile, it is known.' },
  );
}
