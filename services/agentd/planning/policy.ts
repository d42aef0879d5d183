import * as t from 'io-ts';
import { integerBetween, NonEmptyString } from '#kit/decode.ts';
import { Author } from '../action.ts';

const Score = integerBetween(0, 100);

/** config/policy.json: what people decided once for all runs. */
export const Policy = t.strict({
  approval: t.strict({ expires_after_days: integerBetween(1, 365) }),
  /** Who commits. The people who approved are named in the pull request. */
  commit_author: Author,
  /** Globs; the forge's own protection and the default branch come on top. */
  protected_branches: t.array(NonEmptyString),
  limits: t.strict({ files: integerBetween(1, 100_000), patch_bytes: integerBetween(1, 100 * 1024 * 1024) }),
  /** Fingerprints of detected secrets that a person found harmless, for example `sha256:0123456789abcdef`. */
  released_secrets: t.array(NonEmptyString),
  /** Points that add up to a risk score of 0 to 100; see the site's page on risk. */
  risk: t.strict({
    base: t.strict({
      create_branch: Score,
      apply_patch: Score,
      run_validation: Score,
      commit: Score,
      push_branch: Score,
      open_pull_request: Score,
      comment_issue: Score,
    }),
    /** Lowest score of each level. */
    levels: t.strict({ medium: Score, high: Score, critical: Score }),
    per_file: Score,
    lines_per_point: integerBetween(1, 100_000),
    size_at_most: Score,
    untrusted_influence: Score,
    prepare_network: Score,
    starts_workflows: Score,
    rejected_before: Score,
    /** At most; for actions of which fewer than half went well before. */
    outcome_history: Score,
    sensitive_paths: t.array(NonEmptyString),
    critical_paths: t.array(NonEmptyString),
  }),
});
export type Policy = t.TypeOf<typeof Policy>;
