import { digestOf } from '#kit/digest.ts';
import type { ActionDefinition } from './registry.ts';

/**
 * What an approval names: sha256 over the canonical JSON (RFC 8785) of everything that decides what the action does and where.
 * Title, rationale and risk are left out: they explain the payload and are not part of it.
 */
export function actionDigest(action: Omit<ActionDefinition, 'digest'>): string {
  const { run_id, action_id, ordinal, kind, params, dry_run, depends_on, artifacts, target } = action;
  const { forge, owner, repo, push_url, branch, base_commit, tree } = target;
  const { forge_url, account, base_branch, vcs } = target;
  return digestOf({
    run_id,
    action_id,
    ordinal,
    kind,
    params,
    dry_run,
    depends_on,
    artifacts,
    forge,
    owner,
    repo,
    push_url,
    branch,
    base_commit,
    tree,
    // Older versions sealed their plans without these; their digests stay what they were.
    ...(forge_url === undefined ? {} : { forge_url, account, base_branch, vcs }),
  });
}
