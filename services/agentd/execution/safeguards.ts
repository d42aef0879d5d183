import { ValidationReport } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { NotFound, Refused } from '#kit/errors.ts';
import type { Target } from '../action.ts';
import { requireApprovedAccount } from '../actions/account.ts';
import { outcomeFact, type RunSoFar, type Safeguards } from '../actions/executor.ts';
import { branchNameProblem } from '../git/branch-name.ts';
import { type Policy, whyProtected } from '../policy.ts';
import type { Forge, Repository } from '../ports/forge.ts';
import type { RunStore } from '../runs/run-store.ts';
import { comparisonText, nothingNewFails } from '../validation/base-comparison.ts';

/** What every publishing action asks before it acts. */
export function safeguardsFor(forge: Forge, policy: Policy, store: Pick<RunStore, 'artifact'>): Safeguards {
  return {
    requireUnprotected: (target, branch) => requireUnprotected(forge, policy, target, branch),
    requireApprovedPlace: async (target) => void (await requireApprovedPlace(forge, target)),
    requireValidation: (run, tree) => requireValidation(store, policy, run, tree),
  };
}

/**
 * No push to a protected branch: by the forge, by configuration, and the default branch always.
 * @throws Refused (`branch_protected`, `branch_name_invalid`, `repository_moved`, `repository_archived`)
 */
async function requireUnprotected(
  forge: Forge,
  policy: Policy,
  target: Target,
  branch: string,
): Promise<void> {
  const problem = branchNameProblem(branch);
  if (problem !== null) throw new Refused('branch_name_invalid', `branch '${branch}' ${problem}`);
  const repository = await requireApprovedPlace(forge, target);
  if (repository.archived)
    throw new Refused(
      'repository_archived',
      `${target.owner}/${target.repo} is archived and takes no pushes`,
    );
  const why = whyProtected(branch, [repository.default_branch, target.base_branch], policy);
  if (why !== null) throw new Refused('branch_protected', why);
  const protection = await forge.protection(target, branch);
  if (protection.protected)
    throw new Refused('branch_protected', `'${branch}' is protected on ${forge.name}: ${protection.reason}`);
}

/**
 * The forge still means the repository that was approved, and sees us as the account that was.
 * @throws Refused (`repository_moved`), Conflict (`account_changed`)
 */
async function requireApprovedPlace(forge: Forge, target: Target): Promise<Repository> {
  await requireApprovedAccount(forge, target);
  const repository = await forge.repository(target);
  requireApprovedName(target, repository);
  if (repository.push_url === target.push_url) return repository;
  throw new Refused(
    'repository_moved',
    `${target.owner}/${target.repo} is now at ${repository.push_url}; approved was ${target.push_url}. Plan the issue again`,
  );
}

/**
 * The new name of a repository was not part of what was approved.
 * @throws Refused (`repository_moved`)
 */
export function requireApprovedName(target: Target, { owner, repo }: Repository): void {
  if (owner === target.owner && repo === target.repo) return;
  throw new Refused(
    'repository_moved',
    `${target.owner}/${target.repo} is called ${owner}/${repo} now, which is not the name that was approved. Plan the issue again, under its new name`,
    { facts: { owner, repo } },
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
    `forge '${forge.name}' is at ${forge.url} on this host; approved was ${forge_url}. Execute on the host where it is there, set its address in config/forges.json back, or plan the issue again`,
  );
}

/**
 * The safeguard before anything is published: the validation's artifacts exist, it passed, and it is about exactly this tree.
 * @throws Refused (`validation_missing`, `validation_failed`, `validation_of_other_tree`)
 */
async function requireValidation(
  store: Pick<RunStore, 'artifact'>,
  policy: Pick<Policy, 'allow_red_base'>,
  run: RunSoFar,
  tree: string,
): Promise<void> {
  const digest = outcomeFact(run, 'run_validation', 'report');
  if (typeof digest !== 'string') {
    throw new Refused(
      'validation_missing',
      `run ${run.run_id} has no validation that passed; nothing is published without one`,
    );
  }
  const bytes = await readArtifact(store, run.run_id, digest);
  const report = decodeJson(ValidationReport, Buffer.from(bytes).toString(), `validation report ${digest}`);
  for (const step of report.steps) await readArtifact(store, run.run_id, step.log);
  for (const step of report.base?.steps ?? []) await readArtifact(store, run.run_id, step.log);
  if (!report.passed) requireRedBase(report, policy, run);
  if (report.tree !== tree) {
    throw new Refused(
      'validation_of_other_tree',
      `the validation was of tree ${report.tree}; what would be published is ${tree}`,
    );
  }
}

/**
 * A validation that failed counts only if nothing new fails, the approved definition allows that, and the policy still does.
 * @throws Refused (`validation_failed`)
 */
function requireRedBase(
  { base }: ValidationReport,
  policy: Pick<Policy, 'allow_red_base'>,
  run: RunSoFar,
): void {
  const failed = `the validation of run ${run.run_id} failed`;
  const refused = (why: string) => new Refused('validation_failed', `${failed}${why}; nothing is published`);
  if (base === undefined) throw refused('');
  const action = run.actions.find(({ definition }) => definition.kind === 'run_validation')?.definition;
  const params = (action as { params?: { allow_red_base?: unknown } } | undefined)?.params;
  if (!nothingNewFails(base)) throw refused(`: ${comparisonText(base)}`);
  if (params?.allow_red_base !== true)
    throw refused(`: ${comparisonText(base)}, and the approved validation does not allow that`);
  if (!policy.allow_red_base)
    throw refused(`: ${comparisonText(base)}, and allow_red_base of policy.json is false now`);
}

async function readArtifact(
  store: Pick<RunStore, 'artifact'>,
  runId: string,
  digest: string,
): Promise<Uint8Array> {
  try {
    return await store.artifact(runId, digest);
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    throw new Refused(
      'validation_missing',
      `validation artifact ${digest} of run ${runId} is gone; nothing is published without it`,
      {
        cause: error,
      },
    );
  }
}
