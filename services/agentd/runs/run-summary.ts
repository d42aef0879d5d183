import { risks } from '../action.ts';
import type { Run, RunSummary } from './run.ts';

export function summaryOf(run: Run): RunSummary {
  const { forge, owner, repo, number, role } = run.request;
  const levels = run.actions.map(({ definition }) => risks.indexOf(definition.risk));
  const closed = ['cancelled', 'undone', 'superseded', 'planning'].includes(run.status);
  return {
    run_id: run.run_id,
    status: run.status,
    forge,
    owner,
    repo,
    number,
    title: run.issue?.title ?? null,
    role,
    created_at: run.created_at,
    updated_at: run.updated_at,
    highest_risk: levels.length === 0 ? null : risks[Math.max(...levels)]!,
    waiting: closed ? 0 : run.actions.filter(({ approval }) => approval === 'required').length,
    actions: run.actions.length,
  };
}
