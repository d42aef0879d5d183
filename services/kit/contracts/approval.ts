import * as t from 'io-ts';
import { nullable, Sha256 } from '../decode.ts';

/** A rule about who must agree, as it was when the plan was sealed. */
export const AppliedRule = t.strict({
  name: t.string,
  digest: Sha256,
  approvers: t.number,
  not_requester: t.boolean,
  code_owners: t.boolean,
  require_signature: t.boolean,
});
export type AppliedRule = t.TypeOf<typeof AppliedRule>;

const StandingUse = t.strict({ name: t.string, digest: Sha256, author: t.string });

/** What the approval of each action of a plan needs, recorded with the plan. */
export const PlanTerms = t.strict({
  /** Persons who count as having asked for the run. */
  requesters: t.array(t.string),
  /** CODEOWNERS of the base commit (`path`: null without one), and what of the patch it gives owners; null where no rule asked. */
  code_owners: nullable(
    t.strict({
      path: nullable(t.string),
      owned: t.array(t.strict({ owners: t.array(t.string), files: t.array(t.string) })),
    }),
  ),
  /** Actions that rules ask about, and those that a standing approval covers. */
  actions: t.array(
    t.strict({ action_id: t.string, rules: t.array(AppliedRule), standing: nullable(StandingUse) }),
  ),
});
export type PlanTerms = t.TypeOf<typeof PlanTerms>;

/** What rules ask of one action; there is at least one. */
export interface ActionTerms extends Pick<PlanTerms, 'requesters' | 'code_owners'> {
  readonly rules: readonly AppliedRule[];
}

/** How far the rules about who must agree are met. */
export const ApprovalProgress = t.strict({
  met: t.boolean,
  /** For people, for example `1 of 2, one a code owner`. */
  text: t.string,
  /** What is asked, for example `2 people, one a code owner`. */
  needs: t.string,
  rules: t.array(
    t.strict({
      name: t.string,
      met: t.boolean,
      text: t.string,
      approvers: t.number,
      /** People whose approval counts. */
      approved_by: t.array(t.string),
      /** Owners of which one must still approve, for each part of the patch that has owners. */
      missing_owners: t.array(t.array(t.string)),
    }),
  ),
});
export type ApprovalProgress = t.TypeOf<typeof ApprovalProgress>;
