import type { Approval } from '#kit/contracts/action.ts';
import type { ActionTerms, AppliedRule, ApprovalProgress } from '#kit/contracts/approval.ts';
import { identityKey } from '#kit/identity-name.ts';
import { ownerKey, type Somebody } from './people.ts';

/** Whom a decision is of, where that counts for rules. */
export type Identify = (approval: Approval) => Somebody | null;

/** As `people` said when the decision was made. */
export const asRecorded: Identify = ({ person }) =>
  person === undefined ? null : { person: person.name, known_as: person.known_as };

/** Decisions of one person replace each other; without rules a person is a token or an account. */
export function deciderOf({ person, approver }: Pick<Approval, 'person' | 'approver'>): string {
  return person === undefined ? `token ${identityKey(approver)}` : `person ${person.name}`;
}

/** The latest decision of each person, oldest first. */
export function withDecision(decisions: readonly Approval[], next: Approval): readonly Approval[] {
  return [...decisions.filter((earlier) => deciderOf(earlier) !== deciderOf(next)), next];
}

/**
 * How far the rules of an action are met by these decisions, at a time, as far as the record says: whether a signature is good is
 * decided where it is recorded, and where the action starts. A standing approval, an expired one, one of another digest and
 * one of somebody unknown count for nothing.
 */
export function progressOf(
  { terms, digest }: { readonly terms: ActionTerms; readonly digest: string },
  decisions: readonly Approval[],
  now: string,
  identify: Identify = asRecorded,
): ApprovalProgress {
  const counted = decisions.filter(
    (one) =>
      one.decision === 'approve' &&
      one.standing === undefined &&
      one.digest === digest &&
      one.expires_at !== null &&
      one.expires_at > now,
  );
  const rules = terms.rules.map((rule) => ruleProgress(rule, terms, counted, identify));
  const named = rules.length > 1;
  return {
    met: rules.every(({ met }) => met),
    text: rules.map(({ name, text }) => (named ? `${name}: ${text}` : text)).join('; '),
    needs: needsText(terms),
    rules,
  };
}

function ruleProgress(
  rule: AppliedRule,
  terms: ActionTerms,
  counted: readonly Approval[],
  identify: Identify,
): ApprovalProgress['rules'][number] {
  const people = new Map<string, Set<string>>();
  for (const approval of counted) {
    const somebody = identify(approval);
    if (somebody === null || !mayCount(rule, terms, somebody)) continue;
    if (rule.require_signature && approval.signature === undefined) continue;
    people.set(somebody.person, new Set(somebody.known_as));
  }
  const owned = ownersAsked(rule, terms);
  const missing = owned.filter(
    (owners) => ![...people.values()].some((known) => owners.some((owner) => known.has(ownerKey(owner)))),
  );
  const have = people.size;
  // Whoever owns what is missing is one more, where all others have agreed.
  const need = Math.max(rule.approvers, have + (missing.length > 0 ? 1 : 0));
  const met = have >= rule.approvers && missing.length === 0;
  const who =
    owned.length === 0
      ? ''
      : missing.length > 0
        ? `, ${missing.length === owned.length ? 'no code owner yet' : 'not every code owner yet'}`
        : owned.length === 1
          ? ', one a code owner'
          : ', with every code owner';
  return {
    name: rule.name,
    met,
    text: `${have} of ${need}${who}`,
    approvers: rule.approvers,
    approved_by: [...people.keys()],
    missing_owners: missing.map((owners) => [...owners]),
  };
}

function mayCount(rule: AppliedRule, { requesters }: ActionTerms, { person }: Somebody): boolean {
  return !rule.not_requester || !requesters.includes(person);
}

function ownersAsked(rule: AppliedRule, { code_owners }: ActionTerms): readonly (readonly string[])[] {
  return rule.code_owners ? (code_owners?.owned ?? []).map(({ owners }) => owners) : [];
}

/** What is asked before anybody has approved, for example `2 people, one a code owner, not mira`. */
export function needsText(terms: ActionTerms): string {
  const texts = terms.rules.map((rule) => {
    const owned = ownersAsked(rule, terms).length;
    return [
      rule.approvers === 1 ? '1 person' : `${rule.approvers} people`,
      ...(owned === 0 ? [] : [owned === 1 ? 'one a code owner' : 'with every code owner']),
      ...(rule.not_requester ? [`not ${terms.requesters.join(' or ')}`] : []),
      ...(rule.require_signature ? ['signed'] : []),
    ].join(', ');
  });
  return [...new Set(texts)].join('; ');
}

/** Why one more approval of somebody would change nothing for any of the rules; null where it would. */
export function whyOfNoUse(
  { terms, digest }: { readonly terms: ActionTerms; readonly digest: string },
  decisions: readonly Approval[],
  now: string,
  somebody: Somebody & { readonly signed: boolean },
): 'approved_already' | 'approver_is_requester' | 'not_code_owner' | 'signature_required' | null {
  const { rules } = progressOf({ terms, digest }, decisions, now);
  const reasons = terms.rules.flatMap((rule, index) => {
    const { met, approved_by, missing_owners } = rules[index]!;
    if (met) return [];
    if (!mayCount(rule, terms, somebody)) return ['approver_is_requester' as const];
    if (approved_by.includes(somebody.person)) return ['approved_already' as const];
    if (rule.require_signature && !somebody.signed) return ['signature_required' as const];
    const known = new Set(somebody.known_as);
    if (missing_owners.some((owners) => owners.some((owner) => known.has(ownerKey(owner))))) return [null];
    // One place is kept for the owner who is missing.
    const places = rule.approvers - (missing_owners.length > 0 ? 1 : 0) - approved_by.length;
    return [places > 0 ? null : ('not_code_owner' as const)];
  });
  return reasons.length === 0 || reasons.includes(null) ? null : reasons[0]!;
}

/** What the record has of an action and of the decisions about it. */
interface Decided {
  readonly terms: ActionTerms | null;
  readonly definition: { readonly digest: string };
  readonly decisions: readonly Approval[];
  readonly decision: Approval | null;
}

/** How far the rules of an action are met at a time; undefined where none asks. */
export function approvalProgress(
  { terms, definition: { digest }, decisions }: Omit<Decided, 'decision'>,
  now: string,
): ApprovalProgress | undefined {
  return terms === null ? undefined : progressOf({ terms, digest }, decisions, now);
}

/** When the approvals of an action no longer are enough, as far as its record says; null where that is never or now. */
export function approvalEnd({ terms, definition: { digest }, decisions, decision }: Decided): string | null {
  if (terms === null || decision?.decision === 'reject') return decision?.expires_at ?? null;
  const ends = decisions.flatMap(({ expires_at }) => expires_at ?? []).toSorted();
  return ends.find((end) => !progressOf({ terms, digest }, decisions, end).met) ?? null;
}
