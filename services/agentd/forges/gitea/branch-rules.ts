import * as t from 'io-ts';
import { nullable, optional } from '#kit/decode.ts';
import type { BranchRule, RuleTerms } from '../../ports/branch-rules.ts';
import { plain } from '../faults.ts';

const Words = optional(nullable(t.array(t.string)));
const Flag = optional(nullable(t.boolean));
const Count = optional(nullable(t.number));

/** A branch protection. Versions of Gitea and Forgejo leave out members that they do not know. */
export const ProtectionReply = t.strict({
  rule_name: t.string,
  enable_push: Flag,
  enable_push_whitelist: Flag,
  push_whitelist_usernames: Words,
  push_whitelist_teams: Words,
  require_signed_commits: Flag,
  /** Globs with a semicolon between them. */
  protected_file_patterns: optional(nullable(t.string)),
  enable_status_check: Flag,
  status_check_contexts: Words,
  required_approvals: Count,
});
export type ProtectionReply = t.TypeOf<typeof ProtectionReply>;

/** A branch that is there, with what everybody is shown of its protection. */
export const Branch = t.strict({
  protected: t.boolean,
  effective_branch_protection_name: optional(t.string),
  enable_status_check: Flag,
  status_check_contexts: Words,
  required_approvals: Count,
});

/** The one rule that applies to a branch: Gitea lists first what goes first. */
export function coveringRule(rules: readonly ProtectionReply[], branch: string): ProtectionReply | null {
  return rules.find(({ rule_name }) => globOf(rule_name).test(branch)) ?? null;
}

/** As Gitea reads globs: one star stands for characters of a name, two for any. Case never counts here, and there for names only. */
function globOf(glob: string): RegExp {
  const parts = glob.match(/\*\*|\*|\?|\[[^\]]*\]|\{[^}]*\}|./gs) ?? [];
  const source = parts.map((part) => {
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part.length > 2 && part.startsWith('[')) return part.replace('[!', '[^').replaceAll('\\', '\\\\');
    if (part.length > 2 && part.startsWith('{'))
      return `(?:${part.slice(1, -1).split(',').map(RegExp.escape).join('|')})`;
    return RegExp.escape(part);
  });
  try {
    return new RegExp(`^${source.join('')}$`, 'is');
  } catch {
    return new RegExp(`^${RegExp.escape(glob)}$`, 'i');
  }
}

/** @param login of our own account */
export function rulesOf(rule: ProtectionReply, forge: string, login: string): BranchRule[] {
  const source = `rule ${plain(rule.rule_name)} on ${forge}`;
  const files = (rule.protected_file_patterns ?? '').split(';').map((glob) => glob.trim());
  const globs = files.filter((glob) => glob !== '').map(plain);
  const always: RuleTerms[] = [
    { kind: 'deletion' },
    ...(rule.require_signed_commits === true ? [{ kind: 'required_signatures' } as const] : []),
    ...(globs.length > 0 ? [{ kind: 'file_path_restriction', globs } as const] : []),
    ...mergeTerms(rule),
  ];
  return [
    ...(mayAllPush(rule) ? [] : [{ kind: 'update', source, bypass: bypassOf(rule, login) } as const]),
    ...always.map((terms): BranchRule => ({ ...terms, source, bypass: 'never' })),
  ];
}

function mayAllPush({ enable_push, enable_push_whitelist }: ProtectionReply): boolean {
  return enable_push === true && enable_push_whitelist !== true;
}

function bypassOf(rule: ProtectionReply, login: string): BranchRule['bypass'] {
  if (rule.enable_push !== true) return 'never';
  const names = rule.push_whitelist_usernames ?? [];
  if (names.some((name) => name.toLowerCase() === login.toLowerCase())) return 'always';
  return (rule.push_whitelist_teams ?? []).length > 0 ? null : 'never';
}

/** True if a rule keeps us from pushing; the others are about merges, or about what is pushed. */
export function closes({ kind, bypass }: BranchRule): boolean {
  return kind === 'update' && bypass !== 'always';
}

export function shownRules(branch: t.TypeOf<typeof Branch>, source: string): BranchRule[] {
  return mergeTerms(branch).map((terms): BranchRule => ({ ...terms, source, bypass: 'never' }));
}

/** What a pull request into the branch needs. */
function mergeTerms({
  enable_status_check,
  status_check_contexts,
  required_approvals,
}: Pick<
  ProtectionReply,
  'enable_status_check' | 'status_check_contexts' | 'required_approvals'
>): RuleTerms[] {
  const checks = (status_check_contexts ?? []).map(plain);
  const approvals = required_approvals ?? 0;
  return [
    ...(enable_status_check === true
      ? [{ kind: 'required_status_checks', checks, on_push: false } as const]
      : []),
    ...(approvals > 0 ? [{ kind: 'pull_request', approvals, code_owners: false } as const] : []),
  ];
}
