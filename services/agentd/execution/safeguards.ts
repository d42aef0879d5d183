import { minimatch } from 'minimatch';
import { Refused } from '#kit/errors.ts';
import type { Target } from '../action.ts';
import { branchNameProblem } from '../git/tree.ts';
import type { Forge, Repository } from '../planning/forge.ts';
import type { Policy } from '../planning/policy.ts';
import { requireApprovedAccount } from './same-account.ts';

/**
 * No push to a protected branch: by the forge, by configuration, and the default branch always.
 * @throws Refused (`branch_protected`, `branch_name_invalid`, `repository_moved`, `repository_archived`)
 */
export async function requireUnprotected(
  forge: Forge,
  policy: Policy,
  target: Target,
  branch: string,
): Promise<Repository> {
  const problem = await branchNameProblem(branch);
  if (problem !== null) throw new Refused('branch_name_invalid', `branch '${branch}' ${problem}`);
  const repository = await requireApprovedPlace(forge, target);
  if (repository.archived)
    throw new Refused(
      'repository_archived',
      `${target.owner}/${target.repo} is archived and takes no pushes`,
    );
  const names = [repository.default_branch, target.base_branch];
  if (names.some((name) => sameBranch(name, branch))) {
    throw new Refused(
      'branch_protected',
      `'${branch}' is the default or base branch; an agent never pushes there`,
    );
  }
  const glob = policy.protected_branches.find((pattern) =>
    minimatch(branch, pattern, { dot: true, nocase: true }),
  );
  if (glob !== undefined)
    throw new Refused('branch_protected', `'${branch}' is protected by '${glob}' in config/policy.json`);
  const protection = await forge.protection(target, branch);
  if (protection.protected)
    throw new Refused('branch_protected', `'${branch}' is protected on ${forge.name}: ${protection.reason}`);
  return repository;
}

/**
 * The forge still means the repository that was approved, and sees us as the account that was.
 * @throws Refused (`repository_moved`), Conflict (`account_changed`)
 */
export async function requireApprovedPlace(forge: Forge, target: Target): Promise<Repository> {
  await requireApprovedAccount(forge, target);
  const repository = await forge.repository(target);
  if (repository.push_url === target.push_url) return repository;
  throw new Refused(
    'repository_moved',
    `${target.owner}/${target.repo} is now at ${repository.push_url}; approved was ${target.push_url}. Plan the issue again`,
  );
}

/**
 * The configuration still means the forge that was approved: before anything is asked there, or a token sent.
 * @throws Refused (`forge_moved`)
 */
export function requireSameForge(forge: Pick<Forge, 'name' | 'url'>, { forge_url }: Target): void {
  if (forge_url === undefined || forge.url === forge_url) return;
  throw new Refused(
    'forge_moved',
    `forge '${forge.name}' is at ${forge.url} by config/forges.json; approved was ${forge_url}. Set it back, or plan the issue again`,
  );
}

/** Forges on case-insensitive disks take `Main` for `main`. */
function sameBranch(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
