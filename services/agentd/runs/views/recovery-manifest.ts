import { shellWord } from '#kit/shell-word.ts';
import type { ActionKind } from '../../action.ts';
import type { ActionState, Run } from '../run.ts';

/** `branch-recovery.json`: where the change lies, and how to take it back by hand. */
export function recoveryManifest(run: Run) {
  const manifest = facts(run);
  return { ...manifest, restore: restoreLines(run, manifest) };
}

function facts(run: Run) {
  const { workspace, plan, source, request } = run;
  const target = plan?.target ?? null;
  const latest = run.actions.findLast(({ vcs }) => vcs !== null)?.vcs ?? workspace?.vcs ?? null;
  const commit = text(fact(run, 'commit', 'commit')) ?? latest?.commit ?? null;
  return {
    as_of_seq: run.head.seq,
    run_id: run.run_id,
    vcs: workspace?.vcs.kind ?? null,
    vcs_version: workspace?.vcs.version ?? null,
    repo: `${request.owner}/${request.repo}`,
    remote: target?.push_url ?? source?.push_url ?? null,
    base_branch: target?.base_branch ?? source?.base_branch ?? null,
    base_commit: target?.base_commit ?? source?.base_commit ?? null,
    branch: target?.branch ?? null,
    vcs_change_id: latest?.change_id ?? null,
    /** From before the run's first write. */
    vcs_operation_id: workspace?.vcs.operation_id ?? null,
    operations: run.actions.filter(touchesVcs).map(({ definition, intent, vcs }) => ({
      action_id: definition.action_id,
      kind: definition.kind,
      before: intent?.operation_before ?? null,
      after: vcs?.operation_id ?? null,
    })),
    clone_dir: workspace?.clone_dir ?? null,
    commit,
    tree: text(fact(run, 'commit', 'tree')) ?? latest?.tree ?? null,
    delivered_ref: text(fact(run, 'commit', 'delivered_ref')),
    pushed: pushed(run),
    pull_request: pullRequest(run),
  };
}

function touchesVcs({ intent, vcs }: ActionState): boolean {
  return (intent?.operation_before ?? null) !== null || vcs !== null;
}

function pushed(run: Run) {
  const commit = text(fact(run, 'push_branch', 'commit'));
  const branch = text(fact(run, 'push_branch', 'branch')) ?? run.plan?.target.branch ?? null;
  if (commit === null || branch === null) return null;
  return { remote: text(fact(run, 'push_branch', 'remote')) ?? run.plan!.target.push_url, branch, commit };
}

function pullRequest(run: Run) {
  const number = fact(run, 'open_pull_request', 'number');
  return typeof number === 'number' ? { number, url: text(fact(run, 'open_pull_request', 'url')) } : null;
}

/** What a succeeded action left behind; null when it did not succeed or was undone. */
function fact(run: Run, kind: ActionKind, name: string): unknown {
  const action = run.actions.find(({ definition }) => definition.kind === kind);
  return action?.state === 'succeeded' ? (action.outcome?.facts[name] ?? null) : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Command lines for a person to type, from the outside in: each refuses when the thing is not as the run left it. */
function restoreLines(run: Run, manifest: ReturnType<typeof facts>): string[] {
  const { pushed, delivered_ref, commit, clone_dir, vcs, vcs_operation_id, branch } = manifest;
  const lines: string[] = [];
  if (pushed !== null && clone_dir !== null) {
    const ref = `refs/heads/${pushed.branch}`;
    lines.push(
      line(
        'git',
        '-C',
        clone_dir,
        'push',
        `--force-with-lease=${ref}:${pushed.commit}`,
        pushed.remote,
        `:${ref}`,
      ),
    );
  }
  const checkout = text(fact(run, 'commit', 'repo_dir'));
  if (delivered_ref !== null && checkout !== null && commit !== null) {
    lines.push(line('git', '-C', checkout, 'update-ref', '-d', delivered_ref, commit));
  }
  if (clone_dir === null || vcs_operation_id === null) return lines;
  if (vcs === 'jj')
    lines.push(line('jj', '--repository', clone_dir, 'operation', 'restore', vcs_operation_id));
  else if (branch !== null && commit !== null) {
    lines.push(line('git', '-C', clone_dir, 'update-ref', '-d', `refs/heads/${branch}`, commit));
  }
  return lines;
}

function line(...words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
