import * as t from 'io-ts';
import { Account } from '#kit/contracts/account.ts';
import { integerBetween, NonEmptyString, optional, Sha256, Timestamp } from '#kit/decode.ts';
import { digestOf } from '#kit/digest.ts';
import { TokenName } from '#kit/tokens/token.ts';
import { ActionKind, Gate } from '../action.ts';

/** What policy.json says about who must agree: rules, approvals in advance, and who the people are. */

const Score = integerBetween(0, 100);

/** All that are given must fit. */
const conditions = {
  /** Names of forges.json. A standing approval needs them once there are several forges. */
  forges: optional(t.array(NonEmptyString)),
  /** Globs of paths. */
  paths: optional(t.array(NonEmptyString)),
  kinds: optional(t.array(ActionKind)),
  gates: optional(t.array(Gate)),
};

/** Asks more of an approval than one person's. Every rule that fits an action must be met. */
export const ApprovalRule = t.strict({
  name: NonEmptyString,
  /** Globs of `owner/repo`. */
  repositories: optional(t.array(NonEmptyString)),
  ...conditions,
  /** Lowest risk score. */
  risk_at_least: optional(Score),
  /** How many different people must approve; default 1. */
  approvers: optional(integerBetween(1, 20)),
  /** Who asked for the run does not count. */
  not_requester: optional(t.boolean),
  /** Each file of the patch that CODEOWNERS of the base commit gives an owner needs the approval of one of them. */
  code_owners: optional(t.boolean),
  /** Approvals without a signature do not count. */
  require_signature: optional(t.boolean),
});
export type ApprovalRule = t.TypeOf<typeof ApprovalRule>;

/** Approves in advance what is harmless to its author, for actions that no rule asks people about. */
export const StandingApproval = t.strict({
  name: NonEmptyString,
  /** Name of the token of who answers for it; it must have the scope `admin`. */
  author: TokenName,
  /** sha256 of that token; needed once a token of the name was revoked, so that the next one does not answer for it by its name alone. */
  author_token: optional(Sha256),
  /** Globs of `owner/repo`. */
  repositories: t.array(NonEmptyString),
  ...conditions,
  /** Highest risk score. */
  risk_at_most: Score,
  /** At most 90 days ahead. */
  expires_at: Timestamp,
  /** True: also where text of outsiders led to it. */
  untrusted_influence: optional(t.boolean),
  /** True: also where the patch touches `critical_paths`, and actions of critical risk. */
  critical_paths: optional(t.boolean),
});
export type StandingApproval = t.TypeOf<typeof StandingApproval>;

/** Who a person is elsewhere. */
export const KnownPerson = t.strict({
  /** Names of further tokens of the same person. */
  tokens: optional(t.array(TokenName)),
  /** At an identity provider: the address of the provider as `issuer` of oidc.json has it, and the `sub` of the person there. */
  accounts: optional(t.array(Account)),
  /** As CODEOWNERS names them, with or without `@`. */
  logins: optional(t.array(NonEmptyString)),
  /** `org/team`, with or without `@`. */
  teams: optional(t.array(NonEmptyString)),
  emails: optional(t.array(NonEmptyString)),
});
export type KnownPerson = t.TypeOf<typeof KnownPerson>;

/** By the name of the person, which is also that of their first token. */
export type People = Readonly<Record<string, KnownPerson>>;

/** The part of the policy that says who must agree. */
export interface ApprovalPolicy {
  readonly approval: {
    readonly expires_after_days: number;
    readonly require_signature: boolean;
    readonly rules: readonly ApprovalRule[];
    readonly standing: readonly StandingApproval[];
    readonly revoked_accounts?: readonly Account[];
  };
  readonly people: People;
  readonly risk: { readonly critical_paths: readonly string[] };
}

/** Names the content of a rule or a standing approval. */
export function ruleDigest(rule: ApprovalRule | StandingApproval): string {
  return digestOf(rule);
}
