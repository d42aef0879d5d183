import { minimatch } from 'minimatch';
import { Refused } from '#kit/errors.ts';
import type { Target } from '../action.ts';
import { branchNameProblem } from '../git/tree.ts';
import type { Forge, Repository } from '../planning/forge.ts';
import type { Policy } from '../planning/policy.ts';

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
  const repository = await forge.repository(target);
  if (repository.push_url !== target.push_url) {
    throw new Refused(
      'repository_moved',
      `${target.owner}/${target.repo} is now at ${repository.push_url}; approved was ${target.push_url}. Plan the issue again`,
    );
  }
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

/** Forges on case-insensitive disks take `Main` for `main`. */
function sameBranch(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
