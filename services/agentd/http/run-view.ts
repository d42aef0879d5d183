import type { ActionList, ProposedAction } from '#kit/contracts/action.ts';
import type { RunDetail } from '#kit/contracts/run.ts';
import { draftOf, type JudgedAction, type JudgedRun } from '../runs/run.ts';
import { isLapsed, waitsNow } from '../runs/what-is-open.ts';

/** How runs and actions look on the wire: the definition as it was sealed, and what became of it. */
export function actionView(action: JudgedAction): ProposedAction {
  const { definition, ...now } = action;
  return {
    ...definition,
    approval: now.approval,
    decision: now.decision,
    decisions: [...now.decisions],
    approval_progress: action.progress,
    approval_lapsed: isLapsed(action, new Date()) ? true : undefined,
    approval_problem: action.approval_problem,
    state: now.state,
    outcome: now.outcome,
    started_at: now.started_at,
    finished_at: now.finished_at,
  };
}

export function actionsView(run: JudgedRun): ActionList {
  return { run_id: run.run_id, status: run.status, actions: run.actions.map(actionView) };
}

/** Conversation and intents stay inside; the artifacts and events hold them. */
export function runView(run: JudgedRun): RunDetail {
  return {
    run_id: run.run_id,
    status: run.status,
    request: run.request,
    created_at: run.created_at,
    updated_at: run.updated_at,
    head: run.head,
    source: run.source,
    issue: run.issue,
    plan: run.plan,
    actions: run.actions.map(actionView),
    ...waitsNow(run, new Date()),
    usage: run.usage,
    failure: run.failure === null ? null : { retryable: undefined, ...run.failure },
    execution: run.execution,
    workspace: run.workspace,
    undo: run.undo,
    pull_request: run.pull_request,
    conversation: {
      prompt: run.prompt,
      turns: run.turns.map(({ content }) => content),
      transcript: [...(run.agent?.transcript ?? [])],
    },
    agent: agentState(run),
    masked: [...run.masked],
    cancelling: run.cancelling,
    superseded_by: run.superseded_by,
    base_moved: run.base_moved,
    issue_changed: run.issue_changed,
    renamed: run.renamed,
    recoveries: [...run.recoveries],
  };
}

function agentState(run: JudgedRun): RunDetail['agent'] {
  if (run.agent === null) return null;
  const { started, program, seconds_before, seconds, turns, ended } = run.agent;
  return {
    name: started.agent,
    program,
    attempts: started.attempt,
    seconds: seconds_before + seconds,
    turns,
    end: ended?.end ?? null,
    draft: draftOf(run) !== null,
  };
}
