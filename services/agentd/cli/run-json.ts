import type { ProposedAction } from '#kit/contracts/action.ts';
import type { RunDetail } from '#kit/contracts/run.ts';
import type { ActionState, Run } from '../runs/run.ts';

/** A run as `--json` gives it: the shape of `GET /v1/runs/{run_id}`, so that a script can use either. */
export function runJson(run: Run): RunDetail {
  const { run_id, status, request, created_at, updated_at, head, source, issue, plan } = run;
  const { usage, failure, execution, workspace, undo, cancelling } = run;
  return {
    run_id,
    status,
    request: { ...request },
    created_at,
    updated_at,
    head: { ...head },
    source: source === null ? null : { ...source },
    issue: issue === null ? null : { ...issue },
    plan: plan === null ? null : { ...plan },
    actions: run.actions.map(actionJson),
    usage: usage === null ? null : { ...usage },
    failure: failure === null ? null : { ...failure },
    execution: execution === null ? null : { ...execution },
    workspace: workspace === null ? null : { ...workspace },
    undo: undo === null ? null : { ...undo },
    cancelling,
  };
}

/** An action with its approval and state beside its definition. */
export function actionJson(action: ActionState): ProposedAction {
  const { definition, approval, decision, state, outcome, started_at, finished_at } = action;
  return { ...definition, approval, decision, state, outcome, started_at, finished_at };
}
