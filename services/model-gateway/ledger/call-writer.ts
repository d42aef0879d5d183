import { guarded } from '#kit/callbacks.ts';
import { CommitUnknown } from '#kit/database/commit-unknown.ts';
import type { Database, Sql } from '#kit/database/database.ts';
import { CoreError, codeOf, Unavailable } from '#kit/errors.ts';
import { checkDay, checkPurse } from './budgets.ts';
import {
  type Balances,
  balanceNames,
  type DatabaseTime,
  dayBalance,
  type EndedCall,
  endCalls,
  forgetCalls,
  lockBalances,
  type OpenCall,
  openCalls,
  raise,
  reservedFor,
  runBalance,
  writeBalances,
} from './ledger-rows.ts';
import type { Money } from './money.ts';
import { notRecorded } from './not-recorded.ts';
import type { Presence } from './presence.ts';
import { keyEnded, keysOf, type LiveKey } from './run-keys.ts';

/** Where a call counts, and whether it must keep within a budget. */
export interface Recorded {
  readonly day: string;
  readonly bounded: boolean;
}

interface Asked<Work, Answer> {
  readonly work: Work;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: CoreError) => void;
}

interface Raise {
  readonly call: OpenCall;
  readonly day: string;
  readonly reserved: Money;
}

type Opening = Asked<OpenCall, Recorded>;
type Raising = Asked<Raise, void>;

/** Of one transaction: what is to be done, and who waits for it to be committed. */
interface Batch {
  readonly openings: readonly Opening[];
  readonly raisings: readonly Raising[];
  readonly ended: readonly EndedCall[];
  /** Calls that were refused while it was not known whether they are on record, with their days. */
  readonly forgotten: ReadonlyMap<OpenCall, string>;
}

const maxBatch = 500;
const retryMs = 1_000;

/**
 * Puts calls on record before they are made, within the budgets, and their ends as soon as they are known. One transaction at a
 * time: what comes while it runs goes into the next one together, since all change the balance of the day. One gateway on PostgreSQL
 * reserves and settles 800 to 1,100 calls a second, and 60 with one call in each transaction. Ends that cannot be written are kept in
 * memory and tried again.
 */
export class CallWriter {
  readonly #database: Database;
  readonly #presence: Presence;
  #openings: Opening[] = [];
  #raisings: Raising[] = [];
  readonly #ended = new Set<EndedCall>();
  readonly #forgotten = new Map<OpenCall, string>();
  #dayBudget: Money | null = null;
  #writing: Promise<void> | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  /** Why nothing can be written; null when it can. */
  problem: CoreError | null = null;

  constructor(database: Database, presence: Presence) {
    this.#database = database;
    this.#presence = presence;
  }

  limitDay(budget: Money | null): void {
    this.#dayBudget = budget;
  }

  /** Resolves when the call is on record. Rejects with Unauthorized, BudgetExceeded, Unavailable. */
  open(call: OpenCall): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      this.#openings.push({ work: call, resolve, reject });
      this.#start();
    });
  }

  /** Sets more aside for a call under way, up to this in all. Rejects as `open` does. */
  raise(work: Raise): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#raisings.push({ work, resolve, reject });
      this.#start();
    });
  }

  end(call: EndedCall): void {
    this.#ended.add(call);
    this.#start();
  }

  /** Writes what waits. @throws CoreError where it cannot be written */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#hasWork()) await this.#start();
    if (this.#ended.size > 0 && this.problem !== null) throw this.problem;
  }

  /** After the last call of `flush`. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  #hasWork(): boolean {
    return this.#openings.length + this.#raisings.length + this.#ended.size + this.#forgotten.size > 0;
  }

  #start(): Promise<void> {
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    do {
      // What arrives in the same tick goes together.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#write({
        openings: this.#openings.splice(0, maxBatch),
        raisings: this.#raisings.splice(0, maxBatch),
        ended: [...this.#ended].slice(0, maxBatch),
        forgotten: new Map(this.#forgotten),
      });
    } while (this.problem === null ? this.#hasWork() : this.#openings.length + this.#raisings.length > 0);
    // At once: what is asked for from now on starts the next round.
    this.#writing = null;
  }

  async #write(batch: Batch): Promise<void> {
    const { openings, raisings, ended, forgotten } = batch;
    let day = '';
    try {
      const answers = await this.#inTransaction(batch, (time) => (day = time.day));
      this.problem = null;
      for (const call of ended) {
        this.#ended.delete(call);
        this.#presence.underWay.delete(call.id);
      }
      for (const call of forgotten.keys()) {
        this.#forgotten.delete(call);
        this.#presence.underWay.delete(call.id);
      }
      for (const answer of answers) answer();
    } catch (error) {
      this.problem = notRecorded(error);
      for (const { work } of openings) {
        if (error instanceof CommitUnknown) this.#forgotten.set(work, day);
        else this.#presence.underWay.delete(work.id);
      }
      for (const { reject } of [...openings, ...raisings]) reject(this.problem);
      this.#tryLater();
    }
  }

  /** @returns what tells those who wait; to be called when it is committed */
  async #inTransaction(batch: Batch, seen: (time: DatabaseTime) => void): Promise<(() => void)[]> {
    const record = () => this.#database.transaction((sql) => this.#record(sql, batch, seen));
    if (batch.openings.length > 0) await this.#presence.hold();
    try {
      return await record();
    } catch (error) {
      if (codeOf(error) !== 'lease_lost') throw error;
      await this.#presence.hold();
      return await record();
    }
  }

  async #record(sql: Sql, batch: Batch, seen: (time: DatabaseTime) => void): Promise<(() => void)[]> {
    const { openings, raisings, ended, forgotten } = batch;
    if (openings.length > 0) await this.#presence.fence(sql);
    const runs = [
      ...openings.map(({ work }) => work.account),
      ...raisings.map(({ work }) => work.call.account),
    ].flatMap(({ run }) => run ?? []);
    const { time, balances } = await lockBalances(sql, [
      ...runs.map(runBalance),
      ...raisings.map(({ work }) => dayBalance(work.day)),
      ...ended.flatMap(balanceNames),
      ...[...forgotten].flatMap(([{ account }, day]) => balanceNames({ day, run: account.run })),
    ]);
    seen(time);
    await endCalls(sql, ended, balances);
    await forgetCalls(
      sql,
      [...forgotten.keys()].map(({ id }) => id),
      balances,
    );
    const keys = await keysOf(sql, runs);
    const budgets = new Budgets(balances, keys, this.#dayBudget, time);
    const answers: (() => void)[] = [];
    for (const raising of raisings) answers.push(await tryRaise(sql, raising, budgets));
    const opened: OpenCall[] = [];
    for (const opening of openings) answers.push(tryOpen(opening, budgets, opened));
    // Before it is committed: whoever looks then knows it.
    for (const { id } of opened) this.#presence.underWay.add(id);
    await openCalls(sql, opened, { gateway: this.#presence.id, time });
    await writeBalances(sql, balances);
    return answers;
  }

  /** Perhaps nobody asks again, and health has to report when it is over. */
  #tryLater(): void {
    if (this.#closed) return;
    this.#retry ??= setTimeout(
      guarded('the ledger', () => {
        this.#retry = undefined;
        this.#start().catch(() => {});
      }),
      retryMs,
    ).unref();
  }
}

/** What is left of budgets in one transaction, with their balances locked. */
class Budgets {
  readonly #balances: Balances;
  readonly #keys: readonly LiveKey[];
  readonly #dayBudget: Money | null;
  readonly #time: DatabaseTime;

  constructor(balances: Balances, keys: readonly LiveKey[], dayBudget: Money | null, time: DatabaseTime) {
    this.#balances = balances;
    this.#keys = keys;
    this.#dayBudget = dayBudget;
    this.#time = time;
  }

  /** @throws Unauthorized (`token_invalid`), BudgetExceeded */
  take({ account }: OpenCall, name: string | null, needed: Money): Recorded {
    const day = name ?? this.#time.day;
    const ofDay = this.#balances.get(dayBalance(day))!;
    const changed = [ofDay];
    let bounded = account.budget !== null || this.#dayBudget !== null;
    if (account.run !== null) {
      const keys = this.#keys.filter(({ run }) => run === account.run);
      if (!keys.some(({ id }) => `key:${id}` === account.key)) throw keyEnded();
      const ofRun = this.#balances.get(runBalance(account.run))!;
      const budgets = keys.flatMap(({ budget }) => budget ?? []);
      const budget = budgets.length === 0 ? null : Math.max(...budgets);
      bounded ||= budget !== null;
      checkPurse(account, { ...ofRun, budget }, needed);
      changed.push(ofRun);
    }
    const { secondsLeft } = this.#time;
    checkDay({ ...ofDay, name: day, budget: this.#dayBudget, secondsLeft }, needed);
    for (const balance of changed) balance.reserved += needed;
    return { day, bounded };
  }
}

function tryOpen({ work, resolve, reject }: Opening, budgets: Budgets, opened: OpenCall[]): () => void {
  try {
    const recorded = budgets.take(work, null, work.reserved);
    opened.push(work);
    return () => resolve(recorded);
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return () => reject(error);
  }
}

async function tryRaise(sql: Sql, { work, resolve, reject }: Raising, budgets: Budgets): Promise<() => void> {
  const before = await reservedFor(sql, work.call.id);
  if (before === null) return () => reject(countedAsCutOff());
  try {
    budgets.take(work.call, work.day, Math.max(0, work.reserved - before));
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return () => reject(error);
  }
  if (work.reserved > before) await raise(sql, work.call.id, work.reserved);
  return () => resolve();
}

function countedAsCutOff(): Unavailable {
  return new Unavailable(
    'ledger_unavailable',
    'another gateway counted the call as cut off, because this one did not reach the database for too long; it is not tried again',
    { retryAfter: 1, hint: 'Make the call again.' },
  );
}
