import { expect } from 'chai';
import fc from 'fast-check';
import type { Approval } from '#kit/contracts/action.ts';
import type { ActionTerms, AppliedRule } from '#kit/contracts/approval.ts';
import { personOf } from './people.ts';
import { approvalEnd, progressOf, whyOfNoUse, withDecision } from './progress.ts';
import type { People } from './rule.ts';

const digest = 'a'.repeat(64);
const hour = (at: number) => new Date(Date.UTC(2026, 0, 1, at)).toISOString();
const people: People = {
  mira: {
    tokens: ['mira-laptop'],
    logins: ['Mira'],
    accounts: undefined,
    teams: undefined,
    emails: undefined,
  },
  jo: { tokens: undefined, logins: undefined, accounts: undefined, teams: ['acme/core'], emails: undefined },
  kim: {
    tokens: undefined,
    logins: undefined,
    accounts: undefined,
    teams: undefined,
    emails: ['Kim@example.com'],
  },
  lee: { tokens: undefined, logins: ['lee'], accounts: undefined, teams: ['acme/core'], emails: undefined },
};
const tokens = ['mira', 'mira-laptop', 'jo', 'kim', 'lee', 'stranger'];
const ownerSets = [['@mira'], ['@acme/core'], ['kim@EXAMPLE.com', '@lee'], ['@nobody']];

const ruleOf = fc.record<AppliedRule>({
  name: fc.constantFrom('one', 'two'),
  digest: fc.constant(digest),
  approvers: fc.integer({ min: 1, max: 3 }),
  not_requester: fc.boolean(),
  code_owners: fc.boolean(),
  require_signature: fc.boolean(),
});
const termsOf: fc.Arbitrary<ActionTerms> = fc.record({
  requesters: fc.subarray(['mira', 'jo', 'bridge']),
  code_owners: fc.option(
    fc.record({
      path: fc.constant('CODEOWNERS'),
      owned: fc.subarray(ownerSets).map((sets) => sets.map((owners) => ({ owners, files: [owners[0]!] }))),
    }),
    { nil: null },
  ),
  rules: fc.array(ruleOf, { minLength: 1, maxLength: 2 }),
});
interface Decided {
  readonly token: string;
  readonly approves: boolean;
  readonly standing: boolean;
  /** Hours after the decision. */
  readonly expires: number;
  readonly sameDigest: boolean;
  readonly signed: boolean;
}

const decisionsOf = fc.array(
  fc.record<Decided>({
    token: fc.constantFrom(...tokens),
    approves: fc.boolean(),
    standing: fc.boolean(),
    expires: fc.integer({ min: 1, max: 10 }),
    sameDigest: fc.boolean(),
    signed: fc.boolean(),
  }),
  { maxLength: 8 },
);

function approval({ token, approves, standing, expires, sameDigest, signed }: Decided): Approval {
  const known = personOf(people, token);
  return {
    decision: approves ? 'approve' : 'reject',
    approver: token,
    token: undefined,
    account: undefined,
    person: known === null ? undefined : { name: known.person, known_as: [...known.known_as] },
    standing: standing ? { name: 'early', digest } : undefined,
    claimed_approver: null,
    reason: null,
    digest: sameDigest ? digest : 'b'.repeat(64),
    at: hour(0),
    expires_at: approves ? hour(expires) : null,
    signature: signed
      ? { value: 'checked elsewhere', signed_at: hour(0), principal: token, key: 'a key' }
      : undefined,
  };
}

/** The rule in words, as slowly as can be: who counts, how many they are, and whether every owned part has one of its owners. */
function isMet(terms: ActionTerms, decided: readonly Decided[], now: string): boolean {
  const latest = new Map<string, Decided>();
  for (const one of decided) latest.set(personOf(people, one.token)?.person ?? `token ${one.token}`, one);
  return terms.rules.every((rule) => {
    const counted = [...latest].filter(([person, one]) => {
      if (!one.approves || one.standing || !one.sameDigest || hour(one.expires) <= now) return false;
      if (personOf(people, one.token) === null || (rule.require_signature && !one.signed)) return false;
      return !(rule.not_requester && terms.requesters.includes(person));
    });
    const known = counted.flatMap(([, one]) => personOf(people, one.token)!.known_as);
    const parts = rule.code_owners ? (terms.code_owners?.owned ?? []) : [];
    const owned = parts.every(({ owners }) => owners.some((owner) => known.includes(owner.toLowerCase())));
    return counted.length >= rule.approvers && owned;
  });
}

const all = (decided: readonly Decided[]) =>
  decided.reduce<readonly Approval[]>((list, one) => withDecision(list, approval(one)), []);

describe('the progress of an approval', () => {
  it('is met exactly when enough people who count agree, and an owner of each owned part', () => {
    fc.assert(
      fc.property(termsOf, decisionsOf, fc.integer({ min: 0, max: 11 }), (terms, decided, at) => {
        const { met } = progressOf({ terms, digest }, all(decided), hour(at));
        expect(met).to.equal(isMet(terms, decided, hour(at)));
      }),
      { numRuns: 3_000 },
    );
  });

  it('never goes from met to unmet by an approval more, nor from unmet to met by time', () => {
    const one = decisionsOf.filter((list) => list.length > 0);
    fc.assert(
      fc.property(termsOf, one, (terms, decided) => {
        const before = progressOf({ terms, digest }, all(decided.slice(0, -1)), hour(0));
        const last = { ...decided.at(-1)!, approves: true, standing: false, sameDigest: true, signed: true };
        const after = progressOf({ terms, digest }, all([...decided.slice(0, -1), last]), hour(0));
        if (before.met) expect(after.met).to.equal(true);
        const later = progressOf({ terms, digest }, all(decided), hour(5));
        if (later.met) expect(progressOf({ terms, digest }, all(decided), hour(0)).met).to.equal(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('ends when the first approval expires that it cannot do without', () => {
    fc.assert(
      fc.property(termsOf, decisionsOf, (terms, decided) => {
        const decisions = all(decided);
        if (!progressOf({ terms, digest }, decisions, hour(0)).met) return;
        const end = approvalEnd({
          terms,
          definition: { digest },
          decisions,
          decision: decisions.at(-1) ?? null,
        });
        if (decisions.at(-1)?.decision === 'reject') return;
        expect(end).to.not.equal(null);
        expect(progressOf({ terms, digest }, decisions, end!).met).to.equal(false);
        const justBefore = new Date(Date.parse(end!) - 1).toISOString();
        expect(progressOf({ terms, digest }, decisions, justBefore).met).to.equal(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is reached by people whose approval is of use, where the listed people can reach it at all', () => {
    fc.assert(
      fc.property(termsOf, fc.shuffledSubarray(tokens, { minLength: 6 }), (terms, order) => {
        let decided: readonly Decided[] = [];
        const yes = (token: string) => ({
          token,
          approves: true,
          standing: false,
          expires: 9,
          sameDigest: true,
          signed: true,
        });
        // Whoever was of no use may be of use later: three rounds are enough for four people.
        for (const token of [...order, ...order, ...order]) {
          const somebody = personOf(people, token);
          if (somebody === null) continue;
          if (whyOfNoUse({ terms, digest }, all(decided), hour(0), { ...somebody, signed: true }) !== null)
            continue;
          decided = [...decided, yes(token)];
        }
        const everybody = tokens.map(yes);
        expect(progressOf({ terms, digest }, all(decided), hour(0)).met).to.equal(
          isMet(terms, everybody, hour(0)),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  const rule = {
    name: 'two',
    digest,
    approvers: 2,
    not_requester: false,
    code_owners: true,
    require_signature: false,
  };
  const owned = [{ owners: ['@acme/core'], files: ['a'] }];
  const terms: ActionTerms = {
    requesters: ['mira'],
    code_owners: { path: 'CODEOWNERS', owned },
    rules: [rule],
  };
  const yes = (token: string) =>
    approval({ token, approves: true, standing: false, expires: 9, sameDigest: true, signed: true });

  it('counts signed approvals alone where a rule asks for them', () => {
    const signing = { ...terms, rules: [{ ...rule, require_signature: true }] };
    const without = { ...yes('jo'), signature: undefined };
    const text = (...list: Approval[]) => progressOf({ terms: signing, digest }, list, hour(0)).text;
    expect(text(without, yes('mira'))).to.equal('1 of 2, no code owner yet');
    expect(text(yes('jo'), yes('mira'))).to.equal('2 of 2, one a code owner');
    const kim = { ...personOf(people, 'kim')!, signed: false };
    expect(whyOfNoUse({ terms: signing, digest }, [], hour(0), kim)).to.equal('signature_required');
  });

  it('is said in a few words', () => {
    const text = (...list: Approval[]) => progressOf({ terms, digest }, list, hour(0)).text;
    expect(text()).to.equal('0 of 2, no code owner yet');
    expect(text(yes('mira'))).to.equal('1 of 2, no code owner yet');
    expect(text(yes('jo'))).to.equal('1 of 2, one a code owner');
    expect(text(yes('mira'), yes('jo'))).to.equal('2 of 2, one a code owner');
    expect(text(yes('mira'), yes('kim'))).to.equal('2 of 3, no code owner yet');
    expect(progressOf({ terms, digest }, [], hour(0)).needs).to.equal('2 people, one a code owner');
  });
});
