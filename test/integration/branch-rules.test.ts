import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openServices } from '../../services/agentd/main.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import type { ServedRule } from '../fixtures/forges/forge-state.ts';
import { type ForgeWorld, forgeWorlds } from '../fixtures/world/forge-worlds.ts';
import { everybody, greetPatch, quiet, ref } from '../fixtures/world/world.ts';

const forges = ['local', 'github', 'gitea'] as const;

describe('rules of a forge, at planning', () => {
  let bench: ForgeWorld;

  afterEach(async () => {
    await bench.close();
    expect(bench.violations()).to.deep.equal([]);
  });

  /** Planned by a process that starts now, with the configuration as it is. */
  async function planned(): Promise<Run> {
    const number = await bench.newIssue(`Please:\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const { agent, close } = await openServices({ home: bench.world.home });
    try {
      return await agent.planIssue({ ...ref, number, by: everybody }, quiet);
    } finally {
      await close();
    }
  }

  async function notices(): Promise<string[]> {
    const run = await planned();
    const branch = run.plan!.target.branch!;
    return run.plan!.notices.map((text) => text.replaceAll(branch, 'OURS'));
  }

  function configure(file: string, members: object): void {
    const path = join(bench.world.home, 'config', `${file}.json`);
    mkdirSync(join(bench.world.home, 'config'), { recursive: true });
    writeFileSync(path, JSON.stringify(members));
  }

  function kindsOf(run: Run): string[] {
    return run.actions.map(({ definition }) => definition.kind);
  }

  for (const kind of forges) {
    it(`says nothing of rules where there are none, on ${kind}`, async () => {
      bench = await forgeWorlds[kind]!();
      const run = await planned();
      expect(kindsOf(run)).to.include('push_branch');
      expect(run.plan!.notices.filter((text) => /rule|merge|branch/.test(text))).to.deep.equal([]);
    });

    it(`proposes no push to a branch that a rule closes, and says so in the plan, on ${kind}`, async () => {
      bench = await forgeWorlds[kind]!();
      if (bench.served === null) {
        const path = join(bench.world.remote.dir, '../repository.json');
        const record = JSON.parse(readFileSync(path, 'utf8'));
        writeFileSync(path, JSON.stringify({ ...record, protected_branches: ['core/**'] }));
      } else bench.served.rules.push({ branches: 'core/*', type: 'creation' });
      const run = await planned();
      expect(kindsOf(run)).to.not.include.members(['push_branch']);
      expect(run.plan!.notices.join('\n'))
        .to.match(/no push and no pull request is proposed: 'core\/1-\S+' is protected on \w+: rule /)
        .and.contain('set branch.prefix in ');
      configure('policy', { branch: { prefix: 'bot-' } });
      const other = await planned();
      expect(other.plan!.target.branch).to.match(/^bot-2-greeting/);
      expect(kindsOf(other)).to.include('push_branch');
    });

    it(`names branches and tags in the way of ours, on ${kind} and in a checkout`, async () => {
      bench = await forgeWorlds[kind]!();
      const { checkout, remote } = bench.world;
      configure('core', { agentd: { checkouts: { hello: checkout.dir } } });
      remote.git('branch', 'core', 'main');
      checkout.git('branch', 'core');
      const found = (await notices()).filter((text) => text.includes('in the way of'));
      const place = kind === 'local' ? 'local' : 'remote';
      expect(found).to.have.length(2);
      expect(found[0]).to.equal(
        `branch core on ${place} is in the way of OURS, as git has no branch below another: the push would be refused; delete or rename it, or set branch.prefix in config/policy.json and plan again`,
      );
      expect(found[1]).to.contain(`branch core in ${checkout.dir} is in the way of OURS`);
      configure('policy', { branch: { prefix: 'main/' } });
      const below = await planned();
      expect(kindsOf(below)).to.not.include('push_branch');
      expect(below.plan!.notices.join('\n')).to.contain("lies below 'main', the default or base branch");
    });
  }

  const message = { type: 'commit_message_pattern', ruleset_id: 7 } as const;
  const pattern = (operator: string, text: string, more = {}) => ({
    parameters: { operator, pattern: text, ...more },
  });
  const refusedBy = "a push of OURS would be refused by ruleset 'house' (7) of monalisa/my-repo: ";
  const exempt = 'have the rule leave the branch out, or let our account bypass it';

  for (const [rule, notice] of [
    [
      { ...message, ...pattern('starts_with', 'JIRA-') },
      `${refusedBy}the commit message must start with "JIRA-"; ${exempt}`,
    ],
    [{ ...message, ...pattern('contains', 'Core-Run: run_') }, null],
    [
      { ...message, ...pattern('contains', 'Core-Run', { negate: true }) },
      `${refusedBy}the commit message must not contain "Core-Run"; ${exempt}`,
    ],
    [{ ...message, ...pattern('regex', '^[A-Z].* \\(#\\d+\\)\\n') }, null],
    [
      { ...message, ...pattern('regex', '^(a+)+$(?!x)|^(([A-Za-z ()#0-9:_.\\n-])+)+!$') },
      /^not evaluated for a push of OURS: rule commit_message_pattern of ruleset 'house' \(7\)/,
    ],
    [
      { ...message, type: 'commit_author_email_pattern', ...pattern('ends_with', '@acme.org') },
      `${refusedBy}the author's address must end with "@acme.org", and is core@localhost; set commit_author in config/policy.json and plan again`,
    ],
    [{ ...message, type: 'committer_email_pattern', ...pattern('ends_with', '@localhost') }, null],
    [
      { ...message, type: 'required_signatures' },
      `${refusedBy}commits must be signed, and Core's are not; ${exempt}`,
    ],
    [
      { ...message, type: 'file_path_restriction', parameters: { restricted_file_paths: ['DOCS/**'] } },
      `${refusedBy}docs/strangers.md is covered by DOCS/**; ${exempt}`,
    ],
    [
      {
        ...message,
        type: 'file_extension_restriction',
        parameters: { restricted_file_extensions: ['*.md'] },
      },
      `${refusedBy}docs/strangers.md has one of the endings *.md; ${exempt}`,
    ],
    [
      { ...message, type: 'max_file_path_length', parameters: { max_file_path_length: 16 } },
      `${refusedBy}docs/strangers.md has more than 16 characters; ${exempt}`,
    ],
    [{ ...message, type: 'max_file_size', parameters: { max_file_size: 1 } }, null],
    [
      { ...message, type: 'deletion' },
      "undo could not delete OURS on the forge: ruleset 'house' (7) of monalisa/my-repo forbids that",
    ],
    [{ ...message, type: 'non_fast_forward' }, null],
    [{ ...message, type: 'required_linear_history' }, null],
    [
      { ...message, type: 'license_compliance_scanning' },
      "not evaluated for a push of OURS: rule license_compliance_scanning of ruleset 'house' (7) of monalisa/my-repo",
    ],
  ] satisfies [Omit<ServedRule, 'branches'>, string | RegExp | null][]) {
    const of = `${rule.type}${'parameters' in rule ? ` ${JSON.stringify(rule.parameters)}` : ''}`;
    it(`says what a rule of GitHub would refuse of the push: ${of}`, async () => {
      bench = await forgeWorlds.github!();
      const { rules, rulesets } = bench.served!;
      rulesets.push({ id: 7, name: 'house', current_user_can_bypass: 'never' });
      rules.push({ branches: 'core/*', ...rule });
      const found = (await notices()).filter((text) => /ruleset|merge/.test(text));
      if (notice instanceof RegExp) expect(found.join('\n')).to.match(notice);
      else expect(found).to.deep.equal(notice === null ? [] : [notice]);
    });
  }

  it('names what GitHub wants before a merge, and what our account may pass over', async () => {
    bench = await forgeWorlds.github!();
    const { rules, rulesets } = bench.served!;
    rulesets.push({ id: 7, name: 'house', current_user_can_bypass: 'always' });
    const reviews = {
      ...{ dismiss_stale_reviews_on_push: false, require_code_owner_review: true },
      ...{ require_last_push_approval: false, required_review_thread_resolution: false },
      required_approving_review_count: 2,
    };
    const required_status_checks = [{ context: 'build' }, { context: 'lint' }];
    const checks = { required_status_checks, strict_required_status_checks_policy: false };
    const main = { branches: 'main', ruleset_id: 9 };
    rules.push(
      { branches: 'core/*', ruleset_id: 7, type: 'creation' },
      {
        branches: 'core/*',
        ruleset_id: 7,
        type: 'branch_name_pattern',
        ...pattern('starts_with', 'feature/'),
      },
      { ...main, type: 'required_status_checks', parameters: checks },
      { ...main, type: 'pull_request', parameters: reviews },
      { ...main, type: 'required_signatures' },
      { ...main, type: 'required_linear_history' },
      { ...main, type: 'workflows' },
      { ...main, type: 'deletion' },
    );
    const run = await planned();
    expect(kindsOf(run)).to.include('push_branch');
    const branch = run.plan!.target.branch!;
    const passed = `a push of ${branch} passes over ruleset 'house' (7) of monalisa/my-repo, as our account may: `;
    const wanted = (what: string) =>
      `needed before a merge into main: ${what} (ruleset 9 of monalisa/my-repo)`;
    expect(run.plan!.notices.filter((text) => /ruleset|merge/.test(text))).to.deep.equal([
      `${passed}it restricts who may create the branch`,
      `${passed}the branch name must start with "feature/"`,
      wanted('status checks build, lint'),
      wanted('2 approvals and an approval of code owners'),
      wanted("signed commits, and Core's are not: squash, or sign them"),
      wanted('a squash or a rebase, as merge commits are refused'),
      wanted('whatever the rule workflows asks, which is not evaluated'),
    ]);
  });

  it('names what a branch protection of Gitea would refuse and wants, also where it is hidden', async () => {
    bench = await forgeWorlds.gitea!();
    const { rules, collaborators } = bench.served!;
    const whitelist = {
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['core-bot'],
    };
    const checks = { enable_status_check: true, status_check_contexts: ['build'], required_approvals: 1 };
    const strict = { ...whitelist, require_signed_commits: true, protected_file_patterns: 'src/*.c;docs/**' };
    rules.push({ branches: 'core/*', type: 'protection', protection: strict });
    rules.push({ branches: 'main', type: 'protection', protection: checks });
    const rule = 'rule core/* on remote';
    const merging = [
      'needed before a merge into main: status checks build (rule main on remote)',
      'needed before a merge into main: 1 approval (rule main on remote)',
    ];
    const found = async () => (await notices()).filter((text) => /rule|merge/.test(text));
    expect(await found()).to.deep.equal([
      `a push of OURS passes over ${rule}, as our account may: it restricts who may push to the branch`,
      `undo could not delete OURS on the forge: ${rule} forbids that`,
      `a push of OURS would be refused by ${rule}: commits must be signed, and Core's are not; ${exempt}`,
      `a push of OURS would be refused by ${rule}: docs/strangers.md is covered by docs/**; ${exempt}`,
      'needed before a merge into main: a person who may push to it (rule main on remote)',
      ...merging,
    ]);
    collaborators.splice(collaborators.indexOf('core-bot'), 1);
    bench.served!.members.push('core-bot');
    expect(await found()).to.deep.equal([
      'whether rules refuse a push of OURS is not known: remote shows its rules only to administrators of the repository',
      ...merging,
    ]);
  });

  it('plans all the same where rules cannot be read, and says so', async () => {
    bench = await forgeWorlds.github!();
    bench.served!.rules.push({ branches: 'core/*', type: 'creation' });
    bench.refuse(/\/rules\/branches\//);
    const run = await planned();
    expect(kindsOf(run)).to.include('push_branch');
    expect(run.plan!.notices.join('\n')).to.match(
      /whether rules of remote refuse a push of core\/1-\S+ is not known: .*403/,
    );
  });
});
