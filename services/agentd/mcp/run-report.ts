import { patchAuthorText } from '#kit/contracts/patch-author.ts';
import type { RunDetail } from '#kit/contracts/run.ts';

/** What a model needs of a run; the whole of it is large. */
export function runReport(run: RunDetail): Record<string, unknown> {
  const { request, issue, plan } = run;
  return {
    run_id: run.run_id,
    status: run.status,
    ...pick(request, ['forge', 'owner', 'repo', 'number', 'role', 'planner', 'dry_run']),
    issue: issue === null ? null : pick(issue, ['title', 'author', 'association', 'state', 'html_url']),
    plan:
      plan === null
        ? null
        : { ...pick(plan, ['title', 'notices', 'checks']), patch_by: patchAuthorText(plan) },
    actions: run.actions.map((action) =>
      pick(action, [
        'ordinal',
        'action_id',
        'kind',
        'title',
        'gate',
        'risk',
        'risk_score',
        'approval',
        'approval_progress',
        'approval_problem',
        'state',
        'outcome',
      ]),
    ),
    waiting: run.waiting,
    waits_for: run.waits_for,
    usage: run.usage,
    failure: run.failure,
    pull_request: run.pull_request,
    superseded_by: run.superseded_by,
    updated_at: run.updated_at,
    next: nextOf(run),
  };
}

function nextOf({ run_id, status, waits_for }: RunDetail): string {
  if (status === 'planning') return 'The planning goes on; ask show_run again in a while.';
  if (status === 'interrupted') return `A person goes on with it: core resume ${run_id}`;
  return waits_for === null
    ? `Nothing waits for a decision. A person sees all with: core show ${run_id}`
    : `A person decides about the actions: core show ${run_id}, core diff ${run_id}, core approve ${run_id} --gate ${waits_for}`;
}

function pick(from: Readonly<object>, names: readonly string[]): Record<string, unknown> {
  const members = from as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.flatMap((name) => (name in members ? [[name, members[name]]] : [])));
}
