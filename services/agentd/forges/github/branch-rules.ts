import * as t from 'io-ts';
import { oneOf, optional } from '#kit/decode.ts';
import { passesPattern, patternText } from '../../git/rule-pattern.ts';
import type { BranchRule, PatternRule, RuleTerms } from '../../ports/branch-rules.ts';
import { plain } from '../faults.ts';

/** `parameters` depend on the type, see https://docs.github.com/rest/repos/rules#get-rules-for-a-branch. */
export const RuleReply = t.strict({
  type: t.string,
  parameters: t.unknown,
  ruleset_id: optional(t.number),
  ruleset_source: optional(t.string),
});
export type RuleReply = t.TypeOf<typeof RuleReply>;

export const RulesetReply = t.strict({ name: t.string, current_user_can_bypass: optional(t.string) });
export type RulesetReply = t.TypeOf<typeof RulesetReply>;

const Pattern = t.strict({
  operator: oneOf(['starts_with', 'ends_with', 'contains', 'regex']),
  pattern: t.string,
  negate: optional(t.boolean),
});
const StatusChecks = t.strict({
  required_status_checks: t.array(t.strict({ context: t.string })),
  do_not_enforce_on_create: optional(t.boolean),
});
const PullRequest = t.strict({
  required_approving_review_count: t.number,
  require_code_owner_review: optional(t.boolean),
});
const Paths = t.strict({ restricted_file_paths: t.array(t.string) });
const Extensions = t.strict({ restricted_file_extensions: t.array(t.string) });
const PathLength = t.strict({ max_file_path_length: t.number });
const FileSize = t.strict({ max_file_size: t.number });

/** A rule of a branch; null for one that is not about branches and their merges. */
export function ruleOf(reply: RuleReply, ruleset: RulesetReply | null): BranchRule | null {
  const terms = termsOf(reply);
  if (terms === null) return null;
  const { ruleset_id: id, ruleset_source: home } = reply;
  const name = ruleset === null ? '' : ` '${plain(ruleset.name)}'`;
  const number = id === undefined ? '' : ` ${id}`;
  const of = home === undefined ? '' : ` of ${plain(home)}`;
  return {
    ...terms,
    source: `ruleset${name === '' ? number : `${name} (${id})`}${of}`,
    bypass: bypassOf(ruleset),
  };
}

function bypassOf(ruleset: RulesetReply | null): BranchRule['bypass'] {
  switch (ruleset?.current_user_can_bypass) {
    case 'always':
    case 'exempt':
      return 'always';
    case 'pull_requests_only':
      return 'pull_requests_only';
    case 'never':
      return 'never';
    default:
      return null;
  }
}

/** Parameters of another form than expected make a rule unknown. */
function termsOf({ type, parameters }: RuleReply): RuleTerms | null {
  const unknown = { kind: 'unknown', type: plain(type) } as const;
  const read = <A>(codec: t.Decoder<unknown, A>, terms: (found: A) => RuleTerms): RuleTerms => {
    const found = codec.decode(parameters);
    return found._tag === 'Right' ? terms(found.right) : unknown;
  };
  switch (type) {
    case 'creation':
    case 'update':
    case 'deletion':
    case 'non_fast_forward':
    case 'required_linear_history':
    case 'required_signatures':
    case 'merge_queue':
      return { kind: type };
    case 'branch_name_pattern':
    case 'commit_message_pattern':
    case 'commit_author_email_pattern':
    case 'committer_email_pattern':
      return read(Pattern, ({ operator, pattern, negate = false }) => ({
        kind: type,
        operator,
        pattern,
        negate,
      }));
    case 'required_status_checks':
      return read(StatusChecks, ({ required_status_checks, do_not_enforce_on_create }) => ({
        kind: type,
        checks: required_status_checks.map(({ context }) => plain(context)),
        on_push: do_not_enforce_on_create !== true,
      }));
    case 'pull_request':
      return read(PullRequest, ({ required_approving_review_count, require_code_owner_review }) => ({
        kind: type,
        approvals: required_approving_review_count,
        code_owners: require_code_owner_review === true,
      }));
    case 'file_path_restriction':
      return read(Paths, ({ restricted_file_paths: globs }) => ({ kind: type, globs }));
    case 'file_extension_restriction':
      return read(Extensions, ({ restricted_file_extensions: extensions }) => ({ kind: type, extensions }));
    case 'max_file_path_length':
      return read(PathLength, ({ max_file_path_length: characters }) => ({ kind: type, characters }));
    case 'max_file_size':
      return read(FileSize, ({ max_file_size: megabytes }) => ({ kind: type, megabytes }));
    case 'tag_name_pattern':
    case 'copilot_code_review':
      return null;
    default:
      return unknown;
  }
}

/** The rules that keep us from pushing to a branch, for people; the others say what a commit must be like. */
export function closingRules(rules: readonly BranchRule[], branch: string): string[] {
  return rules.filter((rule) => closes(rule, branch)).map(closingText);
}

function closes(rule: BranchRule, branch: string): boolean {
  switch (rule.kind) {
    case 'creation':
    case 'update':
      return rule.bypass !== 'always';
    case 'branch_name_pattern':
      return rule.bypass !== 'always' && passesPattern(rule, branch) === false;
    // Whose reviews or checks a rule wants is to be asked, also where our account could do without.
    case 'pull_request':
    case 'merge_queue':
      return true;
    case 'required_status_checks':
      return rule.on_push;
    case 'unknown':
      return rule.type === 'pull_request' || rule.type === 'required_status_checks';
    case 'deletion':
    case 'non_fast_forward':
    case 'required_linear_history':
    case 'required_signatures':
    case 'commit_message_pattern':
    case 'commit_author_email_pattern':
    case 'committer_email_pattern':
    case 'file_path_restriction':
    case 'file_extension_restriction':
    case 'max_file_path_length':
    case 'max_file_size':
      return false;
  }
}

function closingText(rule: BranchRule): string {
  const terms = isNamePattern(rule) ? `, the name ${patternText(rule)}` : '';
  return `rule ${rule.kind === 'unknown' ? rule.type : rule.kind} of ${rule.source}${terms}`;
}

function isNamePattern(rule: BranchRule): rule is BranchRule & PatternRule {
  return rule.kind === 'branch_name_pattern';
}

interface ServedBranch {
  readonly protection?:
    | {
        readonly enabled?: boolean | undefined;
        readonly required_status_checks?: { readonly contexts: readonly string[] } | undefined;
      }
    | undefined;
}

/** What everybody is shown of the protection that a branch has beside rulesets. */
export function classicRules(found: ServedBranch | null, branch: string): BranchRule[] {
  if (found?.protection?.enabled !== true) return [];
  const shared = { source: `branch protection of ${branch}`, bypass: null };
  const checks = found.protection.required_status_checks?.contexts.map(plain) ?? [];
  return [
    ...(checks.length === 0
      ? []
      : [{ kind: 'required_status_checks', checks, on_push: true, ...shared } as const]),
    { kind: 'unknown', type: 'reviews and signatures, which only administrators are shown', ...shared },
  ];
}
