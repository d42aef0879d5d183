import type { OutcomeRecord, PlanRecord, RecordedReply } from '#kit/contracts/context/execution.ts';

/**
 * What core-context is told of runs. Telling again changes nothing. Rejects with Unavailable (`context_unavailable`) when a
 * later try can help, and with another CoreError when it refuses what it was told.
 */
export interface ContextWriter {
  /** For people, for example `core-context at http://127.0.0.1:8090`. */
  readonly name: string;
  recordPlan(plan: PlanRecord, signal: AbortSignal): Promise<RecordedReply>;
  recordOutcome(outcome: OutcomeRecord, signal: AbortSignal): Promise<RecordedReply>;
}
