import type { CaseOutcome, OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import { sha256 } from '#kit/digest.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { areasOf } from './execution-queries.ts';
import { putRunGraph } from './run-graph.ts';

export interface Recorded {
  /** false where the same or something newer was there. */
  readonly recorded: boolean;
  /** What is known now; null where no plan arrived yet. */
  readonly plan: PlanRecord | null;
}

export const executionCommands = { recordPlan, recordOutcome, noteRunMemories } as const;

function recordPlan(record: GraphRecord, plan: PlanRecord): Recorded {
  const { run_id } = plan;
  const stored = storedExecution(record, run_id);
  if (stored.plan_seq >= plan.seq) return { recorded: false, plan: stored.plan };
  record
    .prepare(
      `INSERT INTO executions (run_id, plan, plan_seq) VALUES (?, ?, ?)
       ON CONFLICT (run_id) DO UPDATE SET plan = excluded.plan, plan_seq = excluded.plan_seq`,
    )
    .run(run_id, JSON.stringify(plan), plan.seq);
  putRunGraph(record, plan, stored.outcome);
  if (stored.outcome !== null) putCases(record, plan, stored.outcome);
  return { recorded: true, plan };
}

/** Kept also before its plan is known; then the plan's arrival writes both. */
function recordOutcome(record: GraphRecord, given: OutcomeRecord): Recorded {
  const { episodes: _, ...rest } = given;
  const { outcome } = withoutWords({ ...rest, episodes: [] }, forgottenIn(record, rest.run_id));
  const { plan, outcome_seq } = storedExecution(record, outcome.run_id);
  if (outcome_seq >= outcome.seq) return { recorded: false, plan };
  putOutcome(record, plan, outcome);
  return { recorded: true, plan };
}

/**
 * Leaves out of the runs what a memory that is forgotten said in their words, for good.
 * @param keys of the memory; those of a run's memories begin with its id
 */
export function forgetRunWords(record: GraphRecord, keys: readonly string[], content: string): void {
  for (const key of keys) {
    const run_id = key.split('/', 1)[0]!;
    const { plan, outcome } = storedExecution(record, run_id);
    if (outcome === null) continue;
    noteRunMemories(record, { run_id, keys: [key] });
    const said = (text: string) => content === text || content.includes(`: ${text}`);
    const rest = withoutWords(outcome, said);
    if (rest.left_out.length === 0) continue;
    noteForgotten(record, run_id, rest.left_out);
    putOutcome(record, plan, rest.outcome);
  }
}

function putOutcome(record: GraphRecord, plan: PlanRecord | null, outcome: OutcomeRecord): void {
  const { run_id } = outcome;
  record
    .prepare(
      `INSERT INTO executions (run_id, outcome, outcome_seq) VALUES (?, ?, ?)
       ON CONFLICT (run_id) DO UPDATE SET outcome = excluded.outcome, outcome_seq = excluded.outcome_seq`,
    )
    .run(run_id, JSON.stringify(outcome), outcome.seq);
  if (plan !== null) {
    putRunGraph(record, plan, outcome);
    putCases(record, plan, outcome);
  }
}

function noteRunMemories(
  record: GraphRecord,
  { run_id, keys }: { readonly run_id: string; readonly keys: readonly string[] },
): null {
  const note = record.prepare('INSERT OR IGNORE INTO run_memories (run_id, key) VALUES (?, ?)');
  for (const key of keys) note.run(run_id, key);
  return null;
}

function storedExecution(record: GraphRecord, runId: string) {
  const row = record
    .prepare('SELECT plan, plan_seq, outcome, outcome_seq FROM executions WHERE run_id = ?')
    .get(runId) as
    | { plan: string | null; plan_seq: number; outcome: string | null; outcome_seq: number }
    | undefined;
  return {
    plan: JSON.parse(row?.plan ?? 'null') as PlanRecord | null,
    plan_seq: row?.plan_seq ?? -1,
    outcome: JSON.parse(row?.outcome ?? 'null') as OutcomeRecord | null,
    outcome_seq: row?.outcome_seq ?? -1,
  };
}

function putCases(record: GraphRecord, plan: PlanRecord, outcome: OutcomeRecord): void {
  record.prepare('DELETE FROM action_cases WHERE run_id = ?').run(plan.run_id);
  const insert = record.prepare(
    `INSERT OR REPLACE INTO action_cases (run_id, action_id, repository, role, kind, areas, outcome, went_well, at, reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const areas = JSON.stringify(areasOf(plan.files));
  for (const { action_id, kind, outcome: how, at, reason } of endedActions(plan, outcome)) {
    const well = wentWell(how) ? 1 : 0;
    insert.run(plan.run_id, action_id, plan.repository, plan.role, kind, areas, how, well, at, reason);
  }
}

/** How one action of a run ended. */
interface EndedAction {
  readonly action_id: string;
  readonly kind: string;
  readonly outcome: CaseOutcome;
  readonly at: string;
  readonly reason: string | null;
}

/** What the pull request's end says something about: what made the change and showed it. */
const judgedByPullRequest: readonly string[] = ['apply_patch', 'commit', 'push_branch', 'open_pull_request'];

/** The actions whose end is known. Dry runs, and what waits or was only blocked by others, teach nothing. */
function endedActions(plan: PlanRecord, outcome: OutcomeRecord): EndedAction[] {
  return plan.actions.flatMap(({ action_id, kind, dry_run }): EndedAction[] => {
    const action = outcome.actions.find((candidate) => candidate.action_id === action_id);
    if (action === undefined || dry_run) return [];
    const { approval, state, reason, message } = action;
    const at = action.finished_at ?? action.decided_at ?? outcome.at;
    const ended = (how: CaseOutcome, why: string | null): EndedAction[] => [
      { action_id, kind, outcome: how, at, reason: why },
    ];
    if (state === 'undone') return ended('undone', message);
    if (state === 'failed') return ended('failed', message);
    if (state === 'succeeded') {
      const pull = judgedByPullRequest.includes(kind) ? outcome.pull_request : null;
      if (pull === null || pull.state === 'open') return ended('succeeded', null);
      return [{ action_id, kind, outcome: pull.state, at: pull.at, reason: pullReason(pull) }];
    }
    return approval === 'rejected' ? ended('rejected', reason) : [];
  });
}

function wentWell(outcome: CaseOutcome): boolean {
  return outcome === 'succeeded' || outcome === 'merged';
}

function pullReason({ number, checks }: NonNullable<OutcomeRecord['pull_request']>): string {
  return `pull request #${number}${checks === 'none' ? '' : `, checks ${checks}`}`;
}

/**
 * The outcome without the words that people had forgotten: its reasons, messages and summary.
 * @returns also the texts that were left out
 */
export function withoutWords(
  outcome: OutcomeRecord,
  isForgotten: (text: string) => boolean,
): { readonly outcome: OutcomeRecord; readonly left_out: readonly string[] } {
  const gone = new Set<string>();
  const kept = <T extends string | null>(text: T, instead: T): T => {
    if (text === null || text === '' || !isForgotten(text)) return text;
    gone.add(text);
    return instead;
  };
  const actions = outcome.actions.map((action) => ({
    ...action,
    reason: kept(action.reason, null),
    message: kept(action.message, null),
    earlier_rejections: action.earlier_rejections.map((one) => ({ ...one, reason: kept(one.reason, '') })),
  }));
  const quotesGone = (text: string) => [...gone].some((word) => text.includes(`: ${word}`));
  const errors = outcome.errors.map((error) =>
    quotesGone(`: ${error.message}`) ? { ...error, message: '' } : error,
  );
  const whole = kept(outcome.summary, '');
  const summary = whole !== null && quotesGone(whole) ? '' : whole;
  return { outcome: { ...outcome, actions, errors, summary }, left_out: [...gone] };
}

/** Whether a text of the run was forgotten; only digests of those are kept, beside the keys of the run's memories. */
export function forgottenIn(record: GraphRecord, runId: string): (text: string) => boolean {
  const find = record.prepare('SELECT 1 FROM run_memories WHERE run_id = ? AND key = ?');
  return (text) => find.get(runId, wordKey(runId, text)) !== undefined;
}

export function noteForgotten(record: GraphRecord, run_id: string, texts: readonly string[]): void {
  noteRunMemories(record, { run_id, keys: texts.map((text) => wordKey(run_id, text)) });
}

function wordKey(runId: string, text: string): string {
  return `${runId}/forgotten/${sha256(`${runId} ${text}`)}`;
}
