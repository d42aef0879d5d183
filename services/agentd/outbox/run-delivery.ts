import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { OutcomeRecord } from '#kit/contracts/context/execution.ts';
import type { Backlog } from '#kit/contracts/health.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { decodeJson } from '#kit/decode.ts';
import { CoreError, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { DeliveryReport } from '../agent.ts';
import { StoredIssue } from '../planning/issue-text.ts';
import type { RunEvent } from '../runs/event.ts';
import type { FileRunStore } from '../runs/file-run-store.ts';
import type { Run } from '../runs/run.ts';
import type { ContextOutbox } from './context-outbox.ts';
import type { ContextWriter } from './context-writer.ts';
import { episodesOf } from './episodes.ts';
import { outcomeRecord } from './outcome-record.ts';
import { planRecord } from './plan-record.ts';

const episodesAtOnce = 200;

/**
 * Tells core-context what the logs of runs say. A log is the outbox of its run: what was appended since the last telling is told
 * with the next, also after a crash, by whichever process comes first.
 */
export class RunDelivery {
  readonly #store: FileRunStore;
  readonly #outbox: ContextOutbox;
  readonly #context: ContextWriter;

  constructor(store: FileRunStore, outbox: ContextOutbox, context: ContextWriter) {
    this.#store = store;
    this.#outbox = outbox;
    this.#context = context;
  }

  get contextName(): string {
    return this.#context.name;
  }

  /**
   * Tells what is new of one run.
   * @returns false where nothing was new
   * @throws Unavailable when it is to be told later
   */
  async deliver(runId: string, signal: AbortSignal): Promise<boolean> {
    const size = this.#store.logSize(runId);
    const told = this.#outbox.told(runId);
    if (size < 0 || (told !== null && told.size >= size)) return false;
    const run = await this.#store.read(runId);
    if (run.request.forge === smokeForge.name) {
      this.#outbox.mark(runId, { seq: run.head.seq, size, refused: null });
      return false;
    }
    const events = await this.#store.events(runId);
    const plan = planRecord(run, events, await this.#issueBody(run));
    // While planning goes on there is nothing to tell; its end makes the log longer.
    if (plan === null && !isOver(run)) {
      this.#outbox.mark(runId, { seq: told?.seq ?? 0, size, refused: null });
      return false;
    }
    if (plan !== null && (told?.seq ?? 0) < run.head.seq) {
      try {
        await this.#tell(run, events, plan, told?.seq ?? 0, signal);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        this.#outbox.mark(runId, { seq: told?.seq ?? 0, size, refused: messageOf(error) });
        return false;
      }
    }
    crashPoint('context.told');
    this.#outbox.mark(runId, { seq: run.head.seq, size, refused: null });
    return true;
  }

  async #tell(
    run: Run,
    events: readonly RunEvent[],
    plan: NonNullable<ReturnType<typeof planRecord>>,
    after: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (after < plan.seq) await this.#context.recordPlan(plan, signal);
    crashPoint('context.plan_told');
    const known = await this.#tellOutcome(run, events, after, signal);
    if (known) return;
    // It has lost what it was told before.
    await this.#context.recordPlan(plan, signal);
    await this.#tellOutcome(run, events, 0, signal);
  }

  async #tellOutcome(
    run: Run,
    events: readonly RunEvent[],
    after: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const outcome = outcomeRecord(run, events);
    const episodes = episodesOf(
      run,
      events.filter(({ seq }) => seq > after),
    );
    let known = true;
    for (const some of inParts(episodes)) {
      known = (await this.#context.recordOutcome({ ...outcome, episodes: some }, signal)).plan_known;
      if (!known) break;
    }
    return known;
  }

  /** Runs of which not everything is known there, oldest first. */
  pending(): string[] {
    const told = this.#outbox.all();
    return [...this.#store.logSizes()]
      .filter(([runId, size]) => size >= 0 && (told.get(runId)?.size ?? -1) < size)
      .map(([runId]) => runId)
      .sort();
  }

  /** How much waits to be told, and since when. */
  backlog(): Backlog {
    const pending = this.pending();
    const oldest = Math.min(...pending.map((runId) => this.#store.changedAt(runId)));
    const age = pending.length === 0 ? 0 : Math.max(0, Math.round((Date.now() - oldest) / 1000));
    return { waiting: pending.length, oldest_seconds: age };
  }

  /** Tells everything that waits, until the service does not answer any more. */
  async deliverPending(signal: AbortSignal): Promise<DeliveryReport> {
    const delivered: string[] = [];
    const pending = this.pending();
    let reason: string | null = null;
    for (const [index, runId] of pending.entries()) {
      try {
        if (await this.deliver(runId, signal)) delivered.push(runId);
      } catch (error) {
        if (error instanceof Unavailable) {
          reason = messageOf(error);
          return { delivered, waiting: pending.slice(index), reason, refused: this.#refused() };
        }
        if (!(error instanceof CoreError) || error instanceof Interrupted) throw error;
        // A record that cannot be read holds up none of the others.
        reason = `run ${runId}: ${messageOf(error)}`;
      }
    }
    return { delivered, waiting: [], reason, refused: this.#refused() };
  }

  /** Everything is told again, for a service that lost its record. */
  forget(): void {
    this.#outbox.forget();
  }

  #refused(): DeliveryReport['refused'] {
    return [...this.#outbox.all()].flatMap(([run_id, { refused }]) =>
      refused === null ? [] : [{ run_id, reason: refused }],
    );
  }

  /** Secrets are masked in it. Empty where it was pruned. */
  async #issueBody(run: Run): Promise<string> {
    if (run.issue === null) return '';
    try {
      const bytes = await this.#store.artifact(run.run_id, run.issue.content);
      return decodeJson(StoredIssue, Buffer.from(bytes).toString('utf8'), 'stored issue').issue.body;
    } catch (error) {
      if (error instanceof CoreError) return '';
      throw error;
    }
  }
}

function isOver({ status }: Run): boolean {
  return status === 'failed' || status === 'cancelled';
}

function isRefusal(error: unknown): boolean {
  return error instanceof CoreError && !(error instanceof Unavailable) && !(error instanceof Interrupted);
}

/** At least one part, because an outcome without episodes is told too. */
function inParts(episodes: OutcomeRecord['episodes']): OutcomeRecord['episodes'][] {
  const parts = [episodes.slice(0, episodesAtOnce)];
  for (let start = episodesAtOnce; start < episodes.length; start += episodesAtOnce) {
    parts.push(episodes.slice(start, start + episodesAtOnce));
  }
  return parts;
}
