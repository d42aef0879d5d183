import type { PlanRecord } from '#kit/contracts/context/execution.ts';
import { contextRepository } from '../planning/context.ts';
import type { RunEvent } from '../runs/event.ts';
import type { ActionState, Run } from '../runs/run.ts';
import { wireLine, wireText } from './wire-text.ts';

const maxFiles = 2_000;

/** The run as it was planned; null while there is nothing to tell: its issue was never read, or planning goes on. */
export function planRecord(run: Run, events: readonly RunEvent[], issueBody: string): PlanRecord | null {
  const ended =
    events.find(({ type }) => type === 'plan_sealed') ??
    events.findLast(({ type }) => type === 'planning_failed' || type === 'run_cancelled');
  if (run.issue === null || ended === undefined) return null;
  const { request, issue, plan, usage } = run;
  return {
    run_id: run.run_id,
    seq: ended.seq,
    created_at: run.created_at,
    planned_at: ended.at,
    repository: contextRepository(request),
    role: wireLine(request.role),
    planner: wireLine(request.planner),
    status: run.status,
    dry_run: request.dry_run,
    issue: {
      number: request.number,
      title: wireLine(issue.title),
      body: wireText(issueBody, 20_000),
      state: wireLine(issue.state),
      author: wireLine(issue.author),
      association: wireLine(issue.association),
      url: issue.html_url === null ? null : wireLine(issue.html_url, 4_000),
    },
    title: plan === null ? null : wireLine(plan.title),
    summary: plannedText(run),
    model:
      usage === null
        ? null
        : { provider: wireLine(usage.provider), model: wireLine(usage.model), tier: wireLine(usage.tier) },
    recovery_branch: plan?.target.branch ?? null,
    base_commit: run.source?.base_commit ?? null,
    files: changedFiles(run.actions).slice(0, maxFiles),
    artifacts: plan?.patch == null ? [] : [{ sha256: plan.patch, title: `patch of ${run.run_id}` }],
    actions: run.actions.map(({ definition }) => {
      const { action_id, ordinal, kind, gate, title, risk, risk_score, dry_run, digest } = definition;
      return { action_id, ordinal, kind, gate, title: wireLine(title), risk, risk_score, dry_run, digest };
    }),
  };
}

/** Paths of the run's change, those of renamed files too. */
export function changedFiles(actions: readonly ActionState[]): string[] {
  const patch = actions.find(({ definition }) => definition.kind === 'apply_patch')?.definition;
  if (patch?.kind !== 'apply_patch') return [];
  const paths = patch.params.files.flatMap(({ path, old_path }) =>
    old_path === null ? [path] : [path, old_path],
  );
  return [...new Set(paths)].filter((path) => path.length <= 4_000 && path.isWellFormed());
}

function plannedText({ request, actions, failure }: Run): string {
  if (failure !== null && actions.length === 0) return wireText(`planning failed: ${failure.message}`, 4_000);
  const kinds = actions.map(({ definition }) => definition.kind).join(', ');
  return `${request.role} proposed ${actions.length === 1 ? '1 action' : `${actions.length} actions`}: ${kinds}`;
}
