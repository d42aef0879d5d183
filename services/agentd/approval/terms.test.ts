import { expect } from 'chai';
import { sampleAction } from '../../../test/contract/run-store.sample.ts';
import { tokenRecord } from '../../../test/fixtures/approved/token-record.ts';
import { checkApprovalPolicy } from './check-policy.ts';
import { planTerms, termsNotices } from './plan-terms.ts';
import type { ApprovalPolicy, ApprovalRule, StandingApproval } from './rule.ts';
import { rulesFor, type WholeChange, whyNotCovered } from './terms.ts';

const now = '2026-01-02T00:00:00.000Z';
const action = { ...sampleAction('run_x', 1, 'apply_patch'), risk_score: 20 };

function ruleWith(members: Partial<ApprovalRule>): ApprovalRule {
  const none = {
    repositories: undefined,
    forges: undefined,
    paths: undefined,
    kinds: undefined,
    gates: undefined,
    risk_at_least: undefined,
    approvers: undefined,
    not_requester: undefined,
    code_owners: undefined,
    require_signature: undefined,
  };
  return { name: 'a rule', ...none, ...members };
}

function standingWith(members: Partial<StandingApproval>): StandingApproval {
  return {
    name: 'early',
    author: 'mira',
    author_token: undefined,
    repositories: ['demo/*'],
    forges: undefined,
    paths: undefined,
    kinds: undefined,
    gates: undefined,
    risk_at_most: 20,
    expires_at: '2026-01-03T00:00:00.000Z',
    untrusted_influence: undefined,
    critical_paths: undefined,
    ...members,
  };
}

function policyWith(
  rules: readonly ApprovalRule[],
  standing: readonly StandingApproval[] = [],
  people: ApprovalPolicy['people'] = {},
): ApprovalPolicy {
  return {
    approval: { expires_after_days: 7, require_signature: false, rules, standing },
    people,
    risk: { critical_paths: ['**/*.lock', 'ci/**'] },
  };
}

const nobody = {
  tokens: undefined,
  logins: undefined,
  accounts: undefined,
  teams: undefined,
  emails: undefined,
};

describe('a rule about who must agree', () => {
  const fits = (members: Partial<ApprovalRule>, paths: readonly string[] = ['src/a.js']) =>
    rulesFor(policyWith([ruleWith(members)]), action, paths).length === 1;

  it('fits a path however its name is written, where a file system may take it for the same', () => {
    const same: Readonly<Record<string, readonly string[]>> = {
      'src/auth/**': ['SRC/Auth/x.js', 'ſrc/auth/x.js', 'src/a\u200cuth/x.js', 'src/auth'],
      'keys/**': ['\u212aeys/a'],
      'straße/**': ['STRASSE/x', 'STRA\u1e9eE/x'],
      'caf\u00e9/*': ['cafe\u0301/x', 'CAF\u00c9/x'],
      'ΟΔΟΣ/**': ['οδος/x', 'οδοσ/x'],
      '**/[[:alpha:]]*.pem': ['a/Key.PEM'],
    };
    for (const [glob, paths] of Object.entries(same))
      for (const path of paths) expect(fits({ paths: [glob] }, [path]), `${glob} ${path}`).to.equal(true);
    for (const path of ['src/author/x.js', 'src', 'lib/src/auth/x.js'])
      expect(fits({ paths: ['src/auth/**'] }, [path]), path).to.equal(false);
  });

  it('fits where all fits that it gives, names in any case', () => {
    expect(fits({})).to.equal(true);
    expect(fits({ repositories: ['DEMO/hel*'] })).to.equal(true);
    expect(fits({ repositories: ['acme/*'] })).to.equal(false);
    expect([fits({ forges: ['local', 'x'] }), fits({ forges: ['x'] })]).to.deep.equal([true, false]);
    expect(fits({ paths: ['SRC/**'] })).to.equal(true);
    expect(fits({ paths: ['docs/**'] })).to.equal(false);
    expect(fits({ paths: ['src/**'] }, [])).to.equal(false);
    expect(fits({ paths: ['**/.hidden/*'] }, ['a', 'x/.hidden/b'])).to.equal(true);
    expect(fits({ kinds: ['apply_patch'], gates: ['build'], risk_at_least: 20 })).to.equal(true);
    expect(fits({ kinds: ['commit'] })).to.equal(false);
    expect(fits({ gates: ['publish'] })).to.equal(false);
    expect(fits({ risk_at_least: 21 })).to.equal(false);
  });
});

describe('a standing approval', () => {
  const why = (members: Partial<StandingApproval>, paths: readonly string[] = ['src/a.js'], change = {}) =>
    whyOf(members, { paths, actions: [{ ...action, ...change }] });
  const whyOf = (members: Partial<StandingApproval>, change: WholeChange, forges = ['local']) =>
    whyNotCovered(standingWith(members), { policy: policyWith([]), forges }, change.actions[0]!, change, now);

  it('covers only what fits in all, every file of the patch, in its case', () => {
    expect(why({})).to.equal(null);
    expect(why({ repositories: ['DEMO/*'] })).to.equal('it is not for demo/hello');
    expect(why({ paths: ['src/**'] })).to.equal(null);
    expect(why({ paths: ['src/**'] }, ['src/a.js', 'lib/b.js'])).to.equal('lib/b.js is outside its paths');
    expect(why({ paths: ['SRC/**'] })).to.equal('src/a.js is outside its paths');
    expect(why({ paths: ['src/**'] }, [])).to.equal('nothing is outside its paths');
    expect(why({ risk_at_most: 19 })).to.equal('the risk of apply_patch is 20, above 19');
    expect(why({ kinds: ['commit'] })).to.equal('it is not for apply_patch');
    expect(why({ expires_at: now })).to.contain('it expired at');
  });

  it('is judged on the whole change: one action that is too risky leaves all of them to people', () => {
    const commit = { ...action, kind: 'commit' as const, risk_score: 1 };
    const publish = { ...action, kind: 'push_branch' as const, gate: 'publish' as const };
    const whole = (change: Partial<typeof publish>, members = {}) =>
      whyOf(members, { paths: ['src/a.js'], actions: [commit, { ...publish, ...change }] });
    expect(whole({})).to.equal(null);
    expect(whole({ risk_score: 21 })).to.equal('the risk of push_branch is 21, above 20');
    expect(whole({ risk: 'critical' })).to.equal('the risk of push_branch is critical');
    expect(whole({ risk: 'critical' }, { critical_paths: true })).to.equal(null);
    const influences = [{ kind: 'issue' as const, source: 'demo/hello#1', author: 'x', trusted: false }];
    expect(whole({ influences })).to.equal('text of outsiders led to it');
  });

  it('is for the forges that it names, and must name them once there are several', () => {
    const change = { paths: ['src/a.js'], actions: [action] };
    expect(whyOf({}, change, ['local', 'github'])).to.contain('does not name its forges');
    expect(whyOf({ forges: ['local'] }, change, ['local', 'github'])).to.equal(null);
    expect(whyOf({ forges: ['github'] }, change, ['local', 'github'])).to.equal(
      'it is not for the forge local',
    );
    expect(whyOf({ forges: ['github'] }, change)).to.equal('it is not for the forge local');
  });

  it('covers no path that Windows takes for one outside', () => {
    expect(why({ paths: ['docs/**'] }, ['docs/..\\..\\src\\a'])).to.contain('is outside its paths');
    expect(why({ paths: ['docs/**'] }, ['docs/Read Me.md'])).to.equal(null);
  });

  it('covers publishing, text of outsiders and what is critical only where it says so', () => {
    expect(why({}, [], { gate: 'publish' })).to.equal('it is not for the gate publish');
    expect(why({ gates: ['publish'] }, [], { gate: 'publish' })).to.equal(null);
    const influences = [{ kind: 'issue', source: 'demo/hello#1', author: 'x', trusted: false }];
    expect(why({}, [], { influences })).to.equal('text of outsiders led to it');
    expect(why({ untrusted_influence: true }, [], { influences })).to.equal(null);
    expect(why({}, ['a', 'sub/YARN.LOCK'])).to.equal('sub/YARN.LOCK is a critical path');
    expect(why({}, ['a'], { risk: 'critical' })).to.equal('the risk of apply_patch is critical');
    expect(why({ critical_paths: true }, ['ci/a'], { risk: 'critical' })).to.equal(null);
  });

  it('covers nothing that rules ask people about, nor without an author who may', async () => {
    const tokens = [tokenRecord({ name: 'mira', scopes: ['admin'] })];
    const planned = {
      request: { requested_by: 'bridge' },
      actions: [action],
      paths: ['a'],
      now,
      codeOwners: () => expect.fail('nobody asks for code owners'),
    };
    const terms = (policy: ApprovalPolicy, known = tokens) =>
      planTerms({ policy, tokens: known, forges: ['local'] }, planned);
    const standing = [standingWith({})];
    const covered = await terms(policyWith([], standing));
    expect(covered?.actions[0]?.standing).to.include({ name: 'early', author: 'mira' });
    expect(termsNotices(covered, [action])).to.deep.equal([
      "1 apply_patch: approved by the standing approval 'early' of mira",
    ]);
    const asked = await terms(policyWith([ruleWith({})], standing, { mira: nobody }));
    expect(asked?.actions[0]).to.deep.include({ standing: null });
    expect(asked?.actions[0]?.rules).to.have.length(1);
    expect(await terms(policyWith([], standing), [])).to.equal(undefined);
    expect(await terms(policyWith([]))).to.equal(undefined);
  });
});

describe('a policy about who must agree', () => {
  const problem = (policy: ApprovalPolicy) => () => checkApprovalPolicy(policy, Date.parse(now));
  const two = {
    mira: nobody,
    jo: { ...nobody, logins: ['Jo'], tokens: ['jo-ci'], emails: ['jo@example.com'] },
  };

  it('lists at least as many people as a rule counts', () => {
    expect(problem(policyWith([ruleWith({ approvers: 2 })], [], two))).not.to.throw();
    expect(problem(policyWith([ruleWith({ approvers: 3 })], [], two))).to.throw(
      '/approval/rules/0/approvers is 3: must be at most the number of people, which is 2',
    );
    expect(problem(policyWith([ruleWith({})]))).to.throw('/approval/rules/0/approvers is 1');
  });

  it('knows each token, login and address as one person', () => {
    for (const [other, name] of [
      [{ tokens: ['jo-ci'] }, 'token jo-ci'],
      [{ tokens: ['jo'] }, 'token jo'],
      [{ logins: ['@jO'] }, 'login jo'],
      [{ emails: ['JO@example.com'] }, 'address jo@example.com'],
    ] as const) {
      const people = { ...two, other: { ...nobody, ...other } } as unknown as ApprovalPolicy['people'];
      expect(problem(policyWith([], [], people)), name).to.throw(
        `/people/other has the ${name}, which jo has too`,
      );
    }
  });

  it('has names that are unique, lists that are not empty, and no standing approval of more than 90 days', () => {
    const [one] = [ruleWith({})];
    expect(problem(policyWith([one, one], [], two))).to.throw(
      '/approval/rules/1/name "a rule" is there twice',
    );
    expect(problem(policyWith([ruleWith({ paths: [] })], [], two))).to.throw(
      '/approval/rules/0/paths is empty',
    );
    expect(problem(policyWith([ruleWith({ paths: ['!src/**'] })], [], two))).to.throw(
      "/approval/rules/0/paths/0 is '!src/**'",
    );
    for (const glob of ['/src/auth/**', './src/**', 'src/auth/', 'src\\auth\\**']) {
      expect(problem(policyWith([ruleWith({ paths: [glob] })], [], two)), glob).to.throw('fits nothing');
      expect(problem(policyWith([], [standingWith({ paths: [glob] })])), glob).to.throw('fits nothing');
      const risk = { critical_paths: [glob] };
      expect(problem({ ...policyWith([]), risk }), glob).to.throw('/risk/critical_paths/0');
    }
    const late = standingWith({ expires_at: '2026-04-03T00:00:00.000Z' });
    expect(problem(policyWith([], [late]))).to.throw('/approval/standing/0/expires_at is 2026-04-03');
    expect(
      problem(policyWith([], [standingWith({ expires_at: '2026-04-02T00:00:00.000Z' })])),
    ).not.to.throw();
  });
});
