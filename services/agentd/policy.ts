import * as t from 'io-ts';
import { readConcern } from '#kit/config/concern.ts';
import { Account } from '#kit/contracts/account.ts';
import { integerBetween, NonEmptyString } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';
import { type ActionKind, Author, actionKinds } from './action.ts';
import { checkApprovalPolicy } from './approval/check-policy.ts';
import { guards } from './approval/guarding-globs.ts';
import { ApprovalRule, KnownPerson, StandingApproval } from './approval/rule.ts';
import { BranchPrefix } from './git/branch-name.ts';

const Score = integerBetween(0, 100);

/** config/policy.json: what people decided once for all runs. */
export const Policy = t.strict({
  approval: t.strict({
    /** How long an approval is good. */
    expires_after_days: integerBetween(1, 365),
    /** Whether only signed approvals count. Who may sign is in `allowed_signers` beside this file. */
    require_signature: t.boolean,
    /** Name of a token to further principals of `allowed_signers` that sign in its name, for example `mira@example.org`. */
    signers: t.record(NonEmptyString, t.array(NonEmptyString)),
    /** Who must agree, beyond one person with a token. */
    rules: t.array(ApprovalRule),
    /** What is approved in advance. */
    standing: t.array(StandingApproval),
    /** At an identity provider, as `accounts` of people: they cannot sign in, and what they approved does not count. */
    revoked_accounts: t.array(Account),
  }),
  /** Whom rules count, by name. */
  people: t.record(t.string, KnownPerson),
  /** Who commits. The people who approved are named in the pull request. */
  commit_author: Author,
  branch: t.strict({
    /** What the names of our branches begin with. */
    prefix: BranchPrefix,
  }),
  /** Globs; the forge's own protection and the default branch come on top. */
  protected_branches: t.array(NonEmptyString),
  /** A larger change is not proposed. */
  limits: t.strict({ files: integerBetween(1, 100_000), patch_bytes: integerBetween(1, 100 * 1024 * 1024) }),
  /** True if validations may run with `unshare (weak)`, which leaves the kernel's own interfaces open. */
  allow_weak_sandbox: t.boolean,
  /** True if a change may be published although its validation fails, provided that all failures are known to be the base's too. */
  allow_red_base: t.boolean,
  /** Fingerprints of detected secrets that a person found harmless, for example `sha256:0123456789abcdef`. */
  released_secrets: t.array(NonEmptyString),
  /** Points that add up to a risk score of 0 to 100. */
  risk: t.strict({
    /** Of each kind of action. */
    base: t.strict(
      Object.fromEntries(actionKinds.map((kind) => [kind, Score])) as Record<ActionKind, typeof Score>,
    ),
    /** Lowest score of each level. */
    levels: t.strict({ medium: Score, high: Score, critical: Score }),
    /** For each file of the patch. */
    per_file: Score,
    /** So many changed lines are one point. */
    lines_per_point: integerBetween(1, 100_000),
    /** The most that size adds. */
    size_at_most: Score,
    /** Where text of outsiders led to it. */
    untrusted_influence: Score,
    /** Where preparing the validation uses the network. */
    prepare_network: Score,
    /** Where the change has files that the validation does not test. */
    untested_files: Score,
    /** Where a coding agent reached hosts of the network or was given credentials. */
    agent_reaches_out: Score,
    /** Where the push starts workflows. */
    starts_workflows: Score,
    /** Where an earlier proposal for the issue was rejected. */
    rejected_before: Score,
    /** At most; for actions of which fewer than half went well before. */
    outcome_history: Score,
    /** Globs; a change there is at least `high`. */
    sensitive_paths: t.array(NonEmptyString),
    /** Globs; a change there is at least `critical`. */
    critical_paths: t.array(NonEmptyString),
  }),
});
export type Policy = t.TypeOf<typeof Policy>;

/** policy.json as it is now. @throws InvalidInput (`config_invalid`) */
export function readPolicy(folders: Pick<Folders, 'config'>): Policy {
  return checkApprovalPolicy(readConcern(Policy, 'policy', folders));
}

/**
 * Why our branch is never pushed to, as far as the policy and the repository's own branches say; null where it may be.
 * @param own the default branch, and the base of the change
 */
export function whyProtected(
  branch: string,
  own: readonly string[],
  { protected_branches }: Pick<Policy, 'protected_branches'>,
): string | null {
  if (own.some((name) => sameBranch(name, branch)))
    return `'${branch}' is the default or base branch; an agent never pushes there`;
  const above = own.find((name) => branch.toLowerCase().startsWith(`${name.toLowerCase()}/`));
  if (above !== undefined)
    return `'${branch}' lies below '${above}', the default or base branch, where git allows no branch; set branch.prefix in config/policy.json`;
  const glob = protected_branches.find((pattern) => guards([pattern], branch));
  return glob === undefined
    ? null
    : `'${branch}' is protected by '${glob}' in protected_branches of config/policy.json`;
}

/** Forges on case-insensitive disks take `Main` for `main`. */
function sameBranch(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
