import { Minimatch } from 'minimatch';
import { CoreError } from '#kit/errors.ts';
import { passesPattern, patternText } from '../git/rule-pattern.ts';
import type { BranchRule, PatternRule } from '../ports/branch-rules.ts';
import type { Forge, Protection, RepositoryRef } from '../ports/forge.ts';

/** A push as it would be, for the rules of a forge. */
export interface PlannedPush {
  readonly branch: string;
  readonly base: string;
  readonly message: string;
  /** Of author and committer. */
  readonly email: string;
  /** Paths that the change touches. */
  readonly paths: readonly string[];
  /** Size in bytes of those that it leaves there. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** What a forge asks of our branch, and of the branch that the change is for. */
export interface Protections {
  readonly own: Protection;
  readonly base: Protection;
}

/** The protections of both branches; the reason, for people, where the forge does not show them. */
export async function askProtections(
  forge: Pick<Forge, 'name' | 'protection'>,
  ref: RepositoryRef,
  { branch, base }: Pick<PlannedPush, 'branch' | 'base'>,
  signal: AbortSignal,
): Promise<Protections | string> {
  try {
    const own = await forge.protection(ref, branch, signal);
    return { own, base: await forge.protection(ref, base, signal) };
  } catch (error) {
    if (signal.aborted || !(error instanceof CoreError)) throw error;
    return `whether rules of ${forge.name} refuse a push of ${branch} is not known: ${error.message}`;
  }
}

/** Why our branch is not pushed, with what to do about it; null where it may be. */
export function whyClosed(
  { own }: Protections,
  { name }: Pick<Forge, 'name'>,
  branch: string,
): string | null {
  if (!own.protected) return null;
  return `'${branch}' is protected on ${name}: ${own.reason}; set branch.prefix in config/policy.json to one that it leaves out, or have it leave this branch out`;
}

/** What the rules of a forge would refuse of the push, and what they want before a merge, one line each. */
export function ruleNotices({ own, base }: Protections, push: PlannedPush): string[] {
  // A repository whose base has no rules has hardly one for our branch.
  const matters = own.unread !== null && base.rules.length > 0;
  return [
    ...own.rules.flatMap((rule) => pushNotice(rule, push) ?? []),
    ...(matters ? [`whether rules refuse a push of ${push.branch} is not known: ${own.unread}`] : []),
    ...base.rules.flatMap((rule) => {
      const need = mergeNeed(rule, push);
      return need === null ? [] : [`needed before a merge into ${push.base}: ${need} (${rule.source})`];
    }),
  ];
}

function pushNotice(rule: BranchRule, push: PlannedPush): string | null {
  const { kind, source, bypass } = rule;
  if (kind === 'unknown') return `not evaluated for a push of ${push.branch}: rule ${rule.type} of ${source}`;
  if (kind === 'deletion')
    return bypass === 'always'
      ? null
      : `undo could not delete ${push.branch} on the forge: ${source} forbids that`;
  if (isPattern(rule) && passesPattern(rule, matched(rule, push)) === null)
    return `not evaluated for a push of ${push.branch}: rule ${kind} of ${source}, ${subject(rule)} ${patternText(rule)}`;
  const refusal = refusalOf(rule, push);
  if (refusal === null) return null;
  const { why, remedy } = refusal;
  if (bypass === 'always')
    return `a push of ${push.branch} passes over ${source}, as our account may: ${why}`;
  const maybe = bypass === null ? ' (whether our account may bypass it is not known)' : '';
  return `a push of ${push.branch} would be refused by ${source}${maybe}: ${why}; ${remedy}`;
}

interface Refusal {
  readonly why: string;
  /** What people can do about it. */
  readonly remedy: string;
}

/** null for what the rule lets pass, and for rules that planning reads as a protection of the branch. */
function refusalOf(rule: BranchRule, push: PlannedPush): Refusal | null {
  const exempt = 'have the rule leave the branch out, or let our account bypass it';
  switch (rule.kind) {
    case 'creation':
    case 'update':
      if (rule.bypass !== 'always') return null;
      return {
        why: `it restricts who may ${rule.kind === 'creation' ? 'create' : 'push to'} the branch`,
        remedy: '',
      };
    case 'branch_name_pattern':
      if (rule.bypass !== 'always' || passesPattern(rule, push.branch) !== false) return null;
      return { why: `the branch name ${patternText(rule)}`, remedy: '' };
    case 'commit_message_pattern':
      if (passesPattern(rule, push.message) !== false) return null;
      return { why: `${subject(rule)} ${patternText(rule)}`, remedy: exempt };
    case 'commit_author_email_pattern':
    case 'committer_email_pattern':
      if (passesPattern(rule, push.email) !== false) return null;
      return {
        why: `${subject(rule)} ${patternText(rule)}, and is ${push.email}`,
        remedy: 'set commit_author in config/policy.json and plan again',
      };
    case 'required_signatures':
      return { why: "commits must be signed, and Core's are not", remedy: exempt };
    case 'file_path_restriction':
    case 'file_extension_restriction':
    case 'max_file_path_length':
    case 'max_file_size': {
      const why = whyFilesRefused(rule, push);
      return why === null ? null : { why, remedy: exempt };
    }
    case 'deletion':
    case 'non_fast_forward':
    case 'required_linear_history':
    case 'merge_queue':
    case 'required_status_checks':
    case 'pull_request':
    case 'unknown':
      return null;
  }
}

function mergeNeed(rule: BranchRule, push: PlannedPush): string | null {
  switch (rule.kind) {
    case 'update':
      return 'a person who may push to it';
    case 'required_status_checks':
      return rule.checks.length === 0 ? 'status checks' : `status checks ${rule.checks.join(', ')}`;
    case 'pull_request':
      return approvals(rule);
    case 'merge_queue':
      return 'its merge queue';
    case 'required_linear_history':
      return 'a squash or a rebase, as merge commits are refused';
    case 'required_signatures':
      return "signed commits, and Core's are not: squash, or sign them";
    case 'commit_message_pattern':
      return textNeed(rule, push.message);
    case 'commit_author_email_pattern':
    case 'committer_email_pattern':
      return textNeed(rule, push.email);
    case 'file_path_restriction':
    case 'file_extension_restriction':
    case 'max_file_path_length':
    case 'max_file_size': {
      const why = whyFilesRefused(rule, push);
      return why === null ? null : `an exemption, as ${why}`;
    }
    case 'unknown':
      return `whatever the rule ${rule.type} asks, which is not evaluated`;
    case 'branch_name_pattern':
    case 'creation':
    case 'deletion':
    case 'non_fast_forward':
      return null;
  }
}

function approvals({
  approvals,
  code_owners,
}: Extract<BranchRule, { readonly kind: 'pull_request' }>): string | null {
  const parts = [
    ...(approvals === 0 ? [] : [`${approvals} ${approvals === 1 ? 'approval' : 'approvals'}`]),
    ...(code_owners ? ['an approval of code owners'] : []),
  ];
  return parts.length === 0 ? null : parts.join(' and ');
}

/** A squash can have another message and author than our commit. */
function textNeed(rule: PatternRule, text: string): string | null {
  const passes = passesPattern(rule, text);
  if (passes === true) return null;
  const ours = passes === null ? 'which is not evaluated' : 'and ours does not';
  return `${subject(rule)} ${patternText(rule)}, ${ours}`;
}

function isPattern(rule: BranchRule): rule is BranchRule & PatternRule {
  return 'operator' in rule;
}

function matched({ kind }: PatternRule, { branch, message, email }: PlannedPush): string {
  if (kind === 'branch_name_pattern') return branch;
  return kind === 'commit_message_pattern' ? message : email;
}

const subjects: Readonly<Record<PatternRule['kind'], string>> = {
  branch_name_pattern: 'the branch name',
  commit_message_pattern: 'the commit message',
  commit_author_email_pattern: "the author's address",
  committer_email_pattern: "the committer's address",
};

function subject({ kind }: PatternRule): string {
  return subjects[kind];
}

type FileRule = Extract<
  BranchRule,
  {
    readonly kind:
      | 'file_path_restriction'
      | 'file_extension_restriction'
      | 'max_file_path_length'
      | 'max_file_size';
  }
>;

function whyFilesRefused(rule: FileRule, { paths, sizes }: PlannedPush): string | null {
  const left = [...sizes.keys()];
  switch (rule.kind) {
    case 'file_path_restriction': {
      const path = paths.find((name) => covering(rule.globs, name) !== undefined);
      return path === undefined ? null : `${path} is covered by ${covering(rule.globs, path)}`;
    }
    case 'file_extension_restriction': {
      const path = left.find((name) => rule.extensions.some((ending) => hasExtension(name, ending)));
      return path === undefined ? null : `${path} has one of the endings ${rule.extensions.join(', ')}`;
    }
    case 'max_file_path_length': {
      const path = left.find((name) => [...name].length > rule.characters);
      return path === undefined ? null : `${path} has more than ${rule.characters} characters`;
    }
    case 'max_file_size': {
      const path = left.find((name) => sizes.get(name)! > rule.megabytes * 1024 * 1024);
      return path === undefined ? null : `${path} has more than ${rule.megabytes} MB`;
    }
  }
}

function covering(globs: readonly string[], path: string): string | undefined {
  const options = { dot: true, nocase: true, nonegate: true, nocomment: true };
  return globs.find((glob) => new Minimatch(glob, options).match(path));
}

/** GitHub takes `.exe`, `exe` and `*.exe`. */
function hasExtension(path: string, ending: string): boolean {
  return path.toLowerCase().endsWith(`.${ending.replace(/^\*?\.?/, '').toLowerCase()}`);
}
