import { isDeepStrictEqual } from 'node:util';
import { Conflict, Refused } from '#kit/errors.ts';
import type { ActionDefinition } from '../action.ts';
import type { Run } from '../runs/run.ts';

/** Nothing of a plan without these is approved or executed: what it would do is not all in what people see. */
export function requireCompletePlan({ run_id, plan }: Run): void {
  if (plan !== null && plan.target.forge_url === undefined) throw planOutdated(run_id);
}

/** @throws Conflict (`run_superseded`) naming the newer run */
export function requireNotSuperseded({ run_id, superseded_by }: Run): void {
  if (superseded_by === null) return;
  throw new Conflict(
    'run_superseded',
    `run ${run_id} was superseded: ${superseded_by} is a newer plan of the same issue`,
    {
      facts: { superseded_by },
      hint: `Look at the newer one: ./core show ${superseded_by}. --keep of plan-issue leaves waiting runs as they are.`,
    },
  );
}

export function planOutdated(runId: string): Refused {
  return new Refused(
    'plan_outdated',
    `run ${runId} was planned by an older version of Core, whose plans do not say where the forge is, which VCS builds the commit and what the sandbox sees; plan the issue again`,
  );
}

/**
 * Where a definition says one thing twice, both must be the same: each executor may then read either. Tells the first that
 * differs, with both values; null where none does.
 */
export function contradiction(run: Run, action: ActionDefinition): string | null {
  const { target, artifacts } = action;
  if (!isDeepStrictEqual(target, run.plan?.target)) return 'its target is not that of the plan';
  for (const [name, value, other, expected] of copies(run, action)) {
    if (value !== expected) return `params.${name} is '${value}', and ${other} '${expected}'`;
  }
  const [name] = Object.keys(artifacts).filter((key) => key !== 'patch' || action.kind !== 'apply_patch');
  return name === undefined ? null : `artifact '${name}' is none that ${action.kind} uses`;
}

type Copy = readonly [name: string, value: unknown, other: string, expected: unknown];

function copies(run: Run, { kind, params, target, artifacts }: ActionDefinition): Copy[] {
  const branch = (name: string, value: string): Copy => [name, value, 'target.branch', target.branch];
  const tree = (value: string): Copy => ['tree', value, 'target.tree', target.tree];
  switch (kind) {
    case 'create_branch':
      return [
        branch('branch', params.branch),
        ['base_branch', params.base_branch, 'target.base_branch', target.base_branch],
        ['base_commit', params.base_commit, 'target.base_commit', target.base_commit],
      ];
    case 'apply_patch':
      return [
        tree(params.tree),
        ['patch', params.patch, 'artifacts.patch', artifacts.patch],
        ['patch', params.patch, 'the patch of the plan', run.plan?.patch],
      ];
    case 'run_validation':
      return [tree(params.tree)];
    case 'commit':
      return [
        tree(params.tree),
        ['deliver_ref', params.deliver_ref, 'the branch', `refs/heads/${target.branch}`],
      ];
    case 'push_branch':
      return [
        branch('branch', params.branch),
        ['push_url', params.push_url, 'target.push_url', target.push_url],
      ];
    case 'open_pull_request':
      return [branch('head', params.head), ['base', params.base, 'target.base_branch', target.base_branch]];
    case 'comment_issue':
      return [['number', params.number, 'the issue', run.request.number]];
  }
}
