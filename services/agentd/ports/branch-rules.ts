/** Rules of a forge for pushes to a branch and merges into it, in words that all kinds of forges share. */

interface Pattern {
  /** `regex` in the syntax of RE2. */
  readonly operator: 'starts_with' | 'ends_with' | 'contains' | 'regex';
  readonly pattern: string;
  /** True if what matches is refused. */
  readonly negate: boolean;
}

export type RuleTerms =
  /** Only those who may bypass it create, update or delete the branch. */
  | { readonly kind: 'creation' | 'update' | 'deletion' }
  | { readonly kind: 'non_fast_forward' | 'required_linear_history' | 'required_signatures' | 'merge_queue' }
  | ({ readonly kind: PatternKind } & Pattern)
  /** `on_push`: also a commit that is pushed needs them. */
  | {
      readonly kind: 'required_status_checks';
      readonly checks: readonly string[];
      readonly on_push: boolean;
    }
  | { readonly kind: 'pull_request'; readonly approvals: number; readonly code_owners: boolean }
  /** Globs of paths that no push may change. */
  | { readonly kind: 'file_path_restriction'; readonly globs: readonly string[] }
  | { readonly kind: 'file_extension_restriction'; readonly extensions: readonly string[] }
  | { readonly kind: 'max_file_path_length'; readonly characters: number }
  | { readonly kind: 'max_file_size'; readonly megabytes: number }
  /** A rule that Core does not know, by the forge's name for it. */
  | { readonly kind: 'unknown'; readonly type: string };

/** What of a push a pattern is about. */
export type PatternKind =
  | 'branch_name_pattern'
  | 'commit_message_pattern'
  | 'commit_author_email_pattern'
  | 'committer_email_pattern';

export type PatternRule = Extract<RuleTerms, { readonly kind: PatternKind }>;

export type BranchRule = RuleTerms & {
  /** Where it is configured, for people: the name and number of its ruleset, or its branch protection. */
  readonly source: string;
  /** When our account may pass it; null where the forge did not say. */
  readonly bypass: 'always' | 'pull_requests_only' | 'never' | null;
};
