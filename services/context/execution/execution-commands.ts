import type { CaseOutcome, OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { areasOf } from './areas.ts';
import { forgottenIn, noteForgotten, withoutWords } from './forgotten-words.ts';
import { putRunGraph } from './run-graph.ts';

interface StoredExecution {
  readonly plan: PlanRecord | null;
  readonly plan_seq: number;
  readonly outcome: OutcomeRecord | null;
  readonly outcome_seq: number;
}

export interface Recorded {
  /** false where the same or something newer was there. */
  readonly recorded: boolean;
  /** What is known now; null where it was never told. */
  readonly plan: PlanRecord | null;
}

/** See store/commands.ts. */
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

function storedExecution(record: GraphRecord, runId: string): StoredExecution {
  const row = record
    .prepare('SELECT plan, plan_seq, outcome, outcome_seq FROM executions WHERE run_id = ?')
    .get(runId) as
    | { plan: string | null; plan_seq: number; outcome: string | null; outcome_seq: number }
    | undefined;
  if (row === undefined) return { plan: null, plan_seq: -1, outcome: null, outcome_seq: -1 };
  return {
    plan: row.plan === null ? null : JSON.parse(row.plan),
    plan_seq: row.plan_seq,
    outcome: row.outcome === null ? null : JSON.parse(row.outcome),
    outcome_seq: row.outcome_seq,
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

/** The actions whose end is known. Rehearsals, and what waits or was only blocked by others, teach nothing. */
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
