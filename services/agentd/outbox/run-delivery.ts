import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { OutcomeRecord, PlanRecord, RecordedReply } from '#kit/contracts/context/execution.ts';
import type { Backlog } from '#kit/contracts/health.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { CoreError, Interrupted, messageOf, Unavailable } from '#kit/errors.ts';
import type { DeliveryReport } from '../agent.ts';
import { storedIssue } from '../planning/issue-text.ts';
import type { RunEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { ContextOutbox } from './context-outbox.ts';
import { episodesOf } from './episodes.ts';
import { outcomeRecord, planRecord } from './run-records.ts';

const episodesAtOnce = 200;

/**
 * Delivers what the logs of runs say to core-context. A log is the queue of its run: what was appended since the last delivery
 * comes with the next, also after a crash, by whichever process comes first.
 */
export class RunDelivery {
  readonly #store: RunStore;
  readonly #outbox: ContextOutbox;
  readonly #context: ContextWriter;

  constructor(store: RunStore, outbox: ContextOutbox, context: ContextWriter) {
    this.#store = store;
    this.#outbox = outbox;
    this.#context = context;
  }

  get contextName(): string {
    return this.#context.name;
  }

  /**
   * Delivers what is new of one run.
   * @returns false where nothing was new
   * @throws Unavailable when a later try can help
   */
  async deliver(runId: string, signal: AbortSignal): Promise<boolean> {
    const size = await this.#store.logSize(runId);
    const cursor = this.#outbox.cursor(runId);
    if (size < 0) return false;
    if (cursor?.size === size) {
      this.#outbox.noNews(runId, size);
      return false;
    }
    const [run, events] = await Promise.all([this.#store.read(runId), this.#store.events(runId)]);
    const hashAt = (seq: number) => (seq === 0 ? '' : events[seq - 1]?.hash);
    // A database that failed over may have lost what was delivered, and something else in its place.
    const known = cursor !== null && cursor.hash === hashAt(cursor.seq) ? cursor.seq : 0;
    const advance = (seq: number, refused: string | null = null) =>
      this.#outbox.advance(runId, cursor, { seq, hash: hashAt(seq) ?? '', size, refused });
    if (run.request.forge === smokeForge.name) {
      advance(run.head.seq);
      return false;
    }
    const plan = planRecord(run, events, await this.#issueBody(run));
    // While planning goes on there is nothing to deliver; its end makes the log longer.
    if (plan === null && run.status !== 'failed' && run.status !== 'cancelled') {
      advance(known);
      return false;
    }
    if (plan !== null && known < run.head.seq) {
      try {
        await this.#deliverRecords(run, events, plan, known, signal);
        this.#outbox.noteBack();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        advance(known, messageOf(error));
        return false;
      }
    }
    crashPoint('context.delivered');
    advance(run.head.seq);
    return true;
  }

  async #deliverRecords(
    run: Run,
    events: readonly RunEvent[],
    plan: PlanRecord,
    after: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (after < plan.seq) await this.#context.recordPlan(plan, signal);
    crashPoint('context.plan_delivered');
    if (await this.#deliverOutcome(run, events, after, signal)) return;
    // It has lost what was delivered before.
    await this.#context.recordPlan(plan, signal);
    await this.#deliverOutcome(run, events, 0, signal);
  }

  /** @returns false where the plan is not known there */
  async #deliverOutcome(
    run: Run,
    events: readonly RunEvent[],
    after: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const outcome = outcomeRecord(run, events);
    const news = events.filter(({ seq }) => seq > after);
    for (const episodes of inParts(episodesOf(run, news))) {
      const { plan_known } = await this.#context.recordOutcome({ ...outcome, episodes }, signal);
      if (!plan_known) return false;
    }
    return true;
  }

  /** Runs of which not everything is known there, oldest first. */
  async pending(): Promise<string[]> {
    return this.#outbox.behind(await this.#store.changes(this.#outbox.position()));
  }

  /** How much waits to be delivered, and since when. */
  async backlog(): Promise<Backlog> {
    const pending = await this.pending();
    const oldest = Math.min(...(await Promise.all(pending.map((runId) => this.#store.changedAt(runId)))));
    const age = pending.length === 0 ? 0 : Math.max(0, Math.round((Date.now() - oldest) / 1000));
    return { waiting: pending.length, oldest_seconds: age };
  }

  /** Delivers everything that waits, until the service does not answer any more. */
  async deliverPending(signal: AbortSignal): Promise<DeliveryReport> {
    const delivered: string[] = [];
    const pending = await this.pending();
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

  /** People learn now that the service does not answer. @returns false where they know since an earlier time */
  noteAway(): boolean {
    try {
      return this.#outbox.noteAway();
    } catch {
      // A full disk: reporting it twice is better than failing for it.
      return true;
    }
  }

  /** Everything is delivered again, for a service that lost its record. */
  forget(): void {
    this.#outbox.forget();
  }

  #refused(): DeliveryReport['refused'] {
    return this.#outbox.refused();
  }

  /** Secrets are masked in it. Empty where it was pruned. */
  async #issueBody(run: Run): Promise<string> {
    if (run.issue === null) return '';
    try {
      return (await storedIssue(this.#store, run.run_id, run.issue.content)).issue.body;
    } catch (error) {
      if (error instanceof CoreError) return '';
      throw error;
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof CoreError && !(error instanceof Unavailable) && !(error instanceof Interrupted);
}

/** At least one part, because an outcome without episodes is delivered too. */
function inParts(episodes: OutcomeRecord['episodes']): OutcomeRecord['episodes'][] {
  const parts = [episodes.slice(0, episodesAtOnce)];
  for (let start = episodesAtOnce; start < episodes.length; start += episodesAtOnce) {
    parts.push(episodes.slice(start, start + episodesAtOnce));
  }
  return parts;
}

/**
 * Takes what happened to runs. The same again changes nothing. Rejects with Unavailable (`context_unavailable`) when a later try
 * can help, and with another CoreError when it refuses.
 */
export interface ContextWriter {
  /** For people, for example `core-context at http://127.0.0.1:8090`. */
  readonly name: string;
  recordPlan(plan: PlanRecord, signal: AbortSignal): Promise<RecordedReply>;
  recordOutcome(outcome: OutcomeRecord, signal: AbortSignal): Promise<RecordedReply>;
}
