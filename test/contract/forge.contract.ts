import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { PermitEnded } from '#kit/permit.ts';
import { isBy } from '../../services/agentd/actions/account.ts';
import { gitIn } from '../fixtures/forges/bare-repository.ts';
import { until } from '../fixtures/until.ts';
import type { ForgeBench } from './forge.benches.ts';

/** What every adapter of the ports Forge and ForgeWriter must do. */
export function forgeContract(name: string, open: () => Promise<ForgeBench>): void {
  describe(`forge contract: ${name}`, () => {
    let bench: ForgeBench;

    before(async () => {
      bench = await open();
    });

    afterEach(() => {
      expect(bench.violations()).to.deep.equal([]);
    });

    after(() => bench.close());

    const unknown = { owner: 'demo', repo: 'nobody-has-this' };
    const issueBy = (author: string, body = 'It is wrong.'): Promise<number> =>
      bench.issue({ title: 'Greeting is wrong', body, author });

    it('reports where a repository is, and git can fetch from there', async () => {
      const repository = await bench.forge.repository(bench.ref);
      expect(repository).to.include({
        owner: 'demo',
        repo: 'hello',
        default_branch: 'main',
        archived: false,
      });
      expect(Math.abs(Date.parse(repository.forge_time) - Date.now())).to.be.below(60_000);
      expect(gitIn('/', ['ls-remote', repository.clone_url, 'refs/heads/main'])).to.match(/^[0-9a-f]{40}\t/);
    });

    it('reports whether the account of the token may push and open a pull request', async () => {
      const asked = async () => (await bench.forge.repository(bench.ref)).access;
      const all = { push: true, pull_request: true, reason: '' };
      expect(await asked()).to.deep.equal(all);
      if (bench.letWrite !== null) {
        await bench.letWrite(false);
        const refused = await asked();
        expect(refused).to.include({ push: false, pull_request: false });
        expect(refused.reason).to.match(/the account of the token in .* may not write there/);
        await bench.letWrite(true);
      }
      await bench.archive(true);
      expect(await asked()).to.deep.include({ push: false, pull_request: false });
      expect((await asked()).reason).to.contain('archived');
      await bench.archive(false);
      expect(await asked()).to.deep.equal(all);
    });

    it('says that a repository is not there', async () => {
      for (const asked of [
        () => bench.forge.repository(unknown),
        () => bench.forge.issue(unknown, 1),
        () => bench.forge.comments(unknown, 1),
        () => bench.forge.listIssues(unknown, { state: 'all', limit: 10 }),
        () => bench.forge.protection(unknown, 'main'),
        () => bench.forge.findPullRequests(unknown, 'main'),
        () => bench.forge.comment(unknown, 1, 'hello'),
      ]) {
        expect(await failure(asked())).to.include({ name: 'NotFound', code: 'repository_not_found' });
      }
    });

    it('refuses names that are none before it does anything with them', async () => {
      for (const ref of [
        { owner: 'a b', repo: 'hello' },
        { owner: '..', repo: 'hello' },
        { owner: '-rf', repo: 'hello' },
        { owner: '', repo: 'hello' },
      ]) {
        expect(await failure(bench.forge.repository(ref))).to.include({
          code: 'invalid_owner_name',
          exitCode: 2,
        });
      }
      for (const repo of ['..', '.', 'a/b', 'a b', '../../etc', 'x.git', 'a\u0000b', '%2e%2e', '']) {
        const error = await failure(bench.forge.issue({ owner: 'demo', repo }, 1));
        expect(error).to.include({ code: 'invalid_repository_name', exitCode: 2 });
      }
      for (const branch of [
        '',
        '-x',
        'a..b',
        'a b',
        'a~1',
        'a.lock',
        '/a',
        'a/',
        'a//b',
        '@',
        'HEAD',
        '.a',
        'a\nb',
        'a/.b',
        'x'.repeat(300),
      ]) {
        expect(await failure(bench.forge.protection(bench.ref, branch))).to.include({
          code: 'invalid_branch_name',
        });
      }
    });

    it('reads an issue with its author and how they stand to the repository', async () => {
      const body = 'Grüße 🎉\r\n```diff\n-a\n+b\n```\n<script>\\u0000 "quoted"';
      const mine = await bench.forge.issue(bench.ref, await issueBy('mira', body));
      expect(mine).to.include({ title: 'Greeting is wrong', body, state: 'open', locked: false });
      expect(mine.author).to.include({ login: 'mira', association: 'collaborator', bot: false });
      const theirs = await bench.forge.issue(bench.ref, await issueBy('stranger'));
      expect(theirs.author).to.include({ login: 'stranger', association: 'none', bot: false });
    });

    it('says that an issue is not there', async () => {
      for (const number of [4711, 2 ** 31 - 1]) {
        const error = await failure(bench.forge.issue(bench.ref, number));
        expect(error).to.include({ name: 'NotFound', code: 'issue_not_found' });
        expect(error.message).to.contain(`demo/hello#${number}`);
        expect(error).to.have.property('hint').that.contains('issue');
        expect(await failure(bench.forge.comments(bench.ref, number))).to.include({
          code: 'issue_not_found',
        });
      }
    });

    it('refuses numbers that no issue has', async () => {
      for (const number of [0, -1, 1.5, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.NaN]) {
        expect(await failure(bench.forge.issue(bench.ref, number))).to.include({
          code: 'invalid_issue_number',
        });
        expect(await failure(bench.forge.comment(bench.ref, number, 'x'))).to.include({
          code: 'invalid_issue_number',
        });
      }
    });

    it('refuses to read more than 1 MiB of an issue, and still lists it', async () => {
      const number = await issueBy('stranger', 'x'.repeat(10 * 1024 * 1024));
      expect(await failure(bench.forge.issue(bench.ref, number))).to.include({
        name: 'TooLarge',
        code: 'issue_too_large',
      });
      const [listed] = await bench.forge.listIssues(bench.ref, { state: 'all', limit: 1 });
      expect(listed?.number).to.equal(number);
      expect(listed!.body.length).to.be.below(1024 * 1024 + 100);
      expect(listed!.body).to.contain('[cut here');
      const small = await issueBy('mira', 'x'.repeat(1024 * 1024));
      expect((await bench.forge.issue(bench.ref, small)).body).to.have.length(1024 * 1024);
    });

    it('gives all comments, oldest first, also more than a page of them', async () => {
      const number = await issueBy('mira');
      for (let index = 0; index < 120; index++) {
        await bench.comment(number, {
          body: `comment ${index}`,
          author: index === 119 ? 'stranger' : 'mira',
        });
      }
      const comments = await bench.forge.comments(bench.ref, number);
      expect(comments.map(({ body }) => body)).to.deep.equal(
        Array.from({ length: 120 }, (_, index) => `comment ${index}`),
      );
      expect(new Set(comments.map(({ id }) => id)).size).to.equal(120);
      expect(comments[0]!.author).to.include({ login: 'mira', association: 'collaborator', bot: false });
      expect(comments[119]!.author.association).to.equal('none');
    });

    it('comments as itself, and finds that comment again since the time before it', async () => {
      const number = await issueBy('mira');
      await bench.comment(number, { body: 'before', author: 'mira' });
      const { forge_time } = await bench.forge.repository(bench.ref);
      const made = await bench.forge.comment(bench.ref, number, 'Planned: 1 → 2\n\n<!-- core:marker -->');
      expect(made.body).to.equal('Planned: 1 → 2\n\n<!-- core:marker -->');
      expect(isBy(made.author, await bench.forge.self())).to.equal(true);
      const found = await bench.forge.comments(bench.ref, number, { since: forge_time });
      expect(found.map(({ id }) => id)).to.include(made.id);
      const later = new Date(Date.parse(forge_time) + 3_600_000).toISOString();
      expect(await bench.forge.comments(bench.ref, number, { since: later })).to.deep.equal([]);
    });

    it('distinguishes its own marker from one that an outsider copied', async () => {
      const number = await issueBy('mira');
      const marker = '<!-- core:run_0199 act_7 -->';
      await bench.comment(number, { body: `Fake ${marker}`, author: 'stranger' });
      await bench.forge.comment(bench.ref, number, `Real ${marker}`);
      const self = await bench.forge.self();
      const marked = (await bench.forge.comments(bench.ref, number)).filter(({ body }) =>
        body.includes(marker),
      );
      expect(marked).to.have.length(2);
      expect(marked.filter(({ author }) => isBy(author, self)).map(({ body }) => body)).to.deep.equal([
        `Real ${marker}`,
      ]);
    });

    it('takes its comment back, once', async () => {
      const number = await issueBy('mira');
      const { id } = await bench.forge.comment(bench.ref, number, 'to be removed');
      await bench.forge.deleteComment(bench.ref, number, id);
      expect(await bench.forge.comments(bench.ref, number)).to.deep.equal([]);
      expect(await failure(bench.forge.deleteComment(bench.ref, number, id))).to.include({
        code: 'comment_not_found',
      });
      expect(await failure(bench.forge.deleteComment(bench.ref, number, '../1'))).to.include({
        code: 'invalid_comment_id',
      });
    });

    it('reads a locked issue, and is refused a comment on it', async () => {
      const number = await bench.issue({ title: 'Heated', body: 'No.', author: 'mira', locked: true });
      expect((await bench.forge.issue(bench.ref, number)).locked).to.equal(true);
      if (!bench.lockHolds) {
        await bench.forge.comment(bench.ref, number, 'one more word');
        return;
      }
      const error = await failure(bench.forge.comment(bench.ref, number, 'one more word'));
      expect(error).to.include({ name: 'Refused', code: 'forge_refused' });
      expect(error.message).to.contain('locked');
      expect(await bench.forge.comments(bench.ref, number)).to.deep.equal([]);
    });

    it('lists issues newest first, by state, without pull requests', async () => {
      const open = await issueBy('mira');
      const closed = await bench.issue({ title: 'Done', body: '', author: 'mira', closed: true });
      await bench.addBranch('core/listed', { 'listed.txt': 'x\n' });
      const pull = await bench.forge.openPullRequest(bench.ref, {
        title: 'Listed',
        body: '',
        head: 'core/listed',
        base: 'main',
      });
      const numbers = async (state: 'open' | 'closed' | 'all', limit: number): Promise<number[]> =>
        (await bench.forge.listIssues(bench.ref, { state, limit })).map(({ number }) => number);
      expect(await numbers('all', 2)).to.deep.equal([closed, open]);
      expect((await numbers('open', 100))[0]).to.equal(open);
      expect(await numbers('closed', 100))
        .to.include(closed)
        .and.not.include(open);
      expect(await numbers('all', 100)).to.not.include(pull.number);
    });

    it('lists issues by their last update, where that is wanted', async () => {
      const old = await issueBy('mira');
      const young = await issueBy('mira');
      const { created_at } = await bench.forge.issue(bench.ref, young);
      // Forges report whole seconds.
      await until('the next second', () => Date.now() >= Date.parse(created_at) + 1_000);
      await bench.comment(old, { body: 'Is this still so?', author: 'mira' });
      const numbers = async (sort: 'created' | 'updated', limit: number): Promise<number[]> =>
        (await bench.forge.listIssues(bench.ref, { state: 'open', limit, sort })).map(({ number }) => number);
      expect(await numbers('created', 2)).to.deep.equal([young, old]);
      expect(await numbers('updated', 1)).to.deep.equal([old]);
    });

    it('lists the issues changed since a time, oldest change first, and which were reopened', async () => {
      const early = await issueBy('mira');
      const closed = await bench.issue({ title: 'Done', body: '', author: 'mira', closed: true });
      const again = await issueBy('mira', 'Not done.');
      const made = Date.now();
      await until('the next second', async () => Date.now() > made + 1_100);
      const { forge_time: since } = await bench.forge.repository(bench.ref);
      await until('the next second', async () => Date.now() > Date.parse(since) + 1_100);
      await bench.comment(early, { body: 'It is.', author: 'mira' });
      await until('another second', async () => Date.now() > Date.parse(since) + 2_200);
      await bench.reopen?.(again);
      const changed = await bench.forge.changedIssues(bench.ref, { since, limit: 100 });
      const expected = bench.reopen === null ? [early] : [early, again];
      expect(changed.map(({ number }) => number)).to.deep.equal(expected);
      expect(changed[0]).to.deep.include({ title: 'Greeting is wrong', body: 'It is wrong.', state: 'open' });
      expect(changed[0]).to.deep.include({ author: 'mira', reopened_at: null });
      if (bench.reopen !== null) {
        expect(changed[1]!.state).to.equal('open');
        expect(Date.parse(changed[1]!.reopened_at!)).to.be.above(Date.parse(since));
      }
      const all = await bench.forge.changedIssues(bench.ref, { since: '2020-01-01T00:00:00Z', limit: 100 });
      expect(all.map(({ number }) => number)).to.include.members([early, closed, again]);
      expect(all.find(({ number }) => number === closed)!.state).to.equal('closed');
      const times = all.map(({ updated_at }) => Date.parse(updated_at));
      expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
      const first = await bench.forge.changedIssues(bench.ref, { since: '2020-01-01T00:00:00Z', limit: 1 });
      expect(first.map(({ number }) => number)).to.deep.equal([all[0]!.number]);
      const refused = await failure(bench.forge.changedIssues(unknown, { since, limit: 1 }));
      expect(refused).to.include({ code: 'repository_not_found' });
    });

    it('lists only issues with a label, however it is written', async () => {
      await issueBy('mira');
      const title = 'Labelled';
      const one = await bench.issue({ title, body: '', author: 'mira', labels: ['Bug', 'odd, one'] });
      const two = await bench.issue({ title, body: '', author: 'mira', labels: ['bug'], closed: true });
      const numbers = async (label: string, state: 'open' | 'all'): Promise<number[]> =>
        (await bench.forge.listIssues(bench.ref, { state, label, limit: 100 })).map(({ number }) => number);
      expect(await numbers('bug', 'all')).to.deep.equal([two, one]);
      expect(await numbers('BUG', 'open')).to.deep.equal([one]);
      expect(await numbers('odd, one', 'all')).to.deep.equal([one]);
      expect(await numbers('none', 'all')).to.deep.equal([]);
    });

    it('refuses to take a pull request for an issue', async () => {
      await bench.addBranch('core/no-issue', { 'no-issue.txt': 'x\n' });
      const request = { title: 'No issue', body: '', head: 'core/no-issue', base: 'main' };
      const { number } = await bench.forge.openPullRequest(bench.ref, request);
      const error = await failure(bench.forge.issue(bench.ref, number));
      expect(error).to.include({ name: 'Refused', code: 'issue_is_pull_request', exitCode: 3 });
    });

    it("protects the default branch always, and others by the forge's rules", async () => {
      const none = { rules: [], unread: null };
      expect(await bench.forge.protection(bench.ref, 'main')).to.deep.equal({
        protected: true,
        reason: 'default branch',
        ...none,
      });
      expect(await bench.forge.protection(bench.ref, 'core/7-free')).to.deep.equal({
        protected: false,
        reason: '',
        ...none,
      });
      await bench.addBranch('release/1.0', { 'release.txt': '1\n' });
      await bench.protect('release/*');
      for (const branch of ['release/1.0', 'release/not-there-yet']) {
        const found = await bench.forge.protection(bench.ref, branch);
        expect(found.protected, branch).to.equal(true);
        expect(found.reason).to.match(/rule|protected/);
      }
      expect((await bench.forge.protection(bench.ref, 'core/7-free')).protected).to.equal(false);
    });

    it('reads all protected branches, however many there are', async () => {
      for (let index = 1; index <= 60; index++) await bench.protect(`many-${index}/*`);
      const { protected: closed, reason } = await bench.forge.protection(bench.ref, 'many-60/1-x');
      expect(closed).to.equal(true);
      expect(reason).to.match(/rule/);
    });

    it('reports what else a push or a merge needs, which protects no branch', async () => {
      if (bench.rule === null) return;
      const terms = { checks: ['build', 'lint'], approvals: 0, signed: true, files: 'docs/**' };
      await bench.rule('asked/*', terms);
      const asked = await bench.forge.protection(bench.ref, 'asked/1-x');
      expect(asked).to.deep.include({ protected: false, reason: '', unread: null });
      const kinds = ['required_status_checks', 'required_signatures', 'file_path_restriction'];
      expect(asked.rules.map(({ kind }) => kind)).to.include.members(kinds);
      for (const rule of asked.rules) {
        expect(rule.source).to.not.equal('');
        if (rule.kind === 'required_status_checks') expect(rule.checks).to.deep.equal(terms.checks);
        if (rule.kind === 'file_path_restriction') expect(rule.globs).to.deep.equal([terms.files]);
      }
      // Not of the default branch, into which other tests merge.
      await bench.rule('reviewed/*', { ...terms, approvals: 2 });
      const { rules } = await bench.forge.protection(bench.ref, 'reviewed/1-x');
      expect(rules.find(({ kind }) => kind === 'pull_request')).to.include({ approvals: 2 });
    });

    it('lets nothing leave once its permit has ended, and asks for it last', async () => {
      await bench.addBranch('core/1-permit', { 'permit.txt': 'hello\n' });
      const number = await issueBy('mira');
      const made = await bench.forge.comment(bench.ref, number, 'first');
      const request = { title: 'x', body: '', head: 'core/1-permit', base: 'main' };
      const ended = new PermitEnded('run x');
      let asked = 0;
      const permit = {
        require() {
          asked++;
          throw ended;
        },
      };
      for (const write of [
        () => bench.forge.comment(bench.ref, number, 'second', permit),
        () => bench.forge.deleteComment(bench.ref, number, made.id, permit),
        () => bench.forge.openPullRequest(bench.ref, request, permit),
      ])
        expect(await failure(write())).to.equal(ended);
      expect(asked).to.equal(3);
      expect(await bench.forge.comments(bench.ref, number)).to.deep.equal([made]);
      expect(await bench.forge.findPullRequests(bench.ref, request.head)).to.deep.equal([]);
      const pull = await bench.forge.openPullRequest(bench.ref, request, { require() {} });
      expect(await failure(bench.forge.closePullRequest(bench.ref, pull.number, permit))).to.equal(ended);
      expect(await bench.forge.findPullRequests(bench.ref, request.head)).to.deep.equal([pull]);
    });

    it('opens a pull request that is found by its branch, in every state', async () => {
      const commit = await bench.addBranch('core/1-greeting', { 'greeting.txt': 'hello\n' });
      const request = {
        title: 'Greet (#1)',
        body: 'Why and how.\n\nRun run_0199',
        head: 'core/1-greeting',
        base: 'main',
      };
      expect(await bench.forge.findPullRequests(bench.ref, request.head)).to.deep.equal([]);
      const opened = await bench.forge.openPullRequest(bench.ref, request);
      expect(opened).to.include({ ...request, state: 'open', head_commit: commit });
      expect(isBy(opened.author, await bench.forge.self())).to.equal(true);
      expect(await bench.forge.findPullRequests(bench.ref, request.head)).to.deep.equal([opened]);

      expect(await failure(bench.forge.openPullRequest(bench.ref, request))).to.include({
        code: 'forge_refused',
      });
      await bench.forge.closePullRequest(bench.ref, opened.number);
      await bench.forge.closePullRequest(bench.ref, opened.number);
      expect(await bench.forge.findPullRequests(bench.ref, request.head)).to.deep.equal([
        { ...opened, state: 'closed' },
      ]);

      const second = await bench.forge.openPullRequest(bench.ref, request);
      expect(second.number).to.be.above(opened.number);
      await bench.merge(second.number);
      expect(await failure(bench.forge.closePullRequest(bench.ref, second.number))).to.include({
        code: 'pull_request_merged',
      });
      await bench.deleteBranch(request.head);
      const found = await bench.forge.findPullRequests(bench.ref, request.head);
      expect(
        found.map(({ state, head, head_commit }) => ({ state, head, head_commit })),
      ).to.have.deep.members([
        { state: 'closed', head: request.head, head_commit: commit },
        { state: 'merged', head: request.head, head_commit: commit },
      ]);
    });

    it('reports how a pull request ended, and when', async () => {
      const commit = await bench.addBranch('core/2-outcome', { 'outcome.txt': 'x\n' });
      const request = { title: 'Outcome', body: '', head: 'core/2-outcome', base: 'main' };
      const opened = await bench.forge.openPullRequest(bench.ref, request);
      const asked = () => bench.forge.pullRequest(bench.ref, opened.number);
      expect(await asked()).to.deep.equal({ ...opened, ended_at: null, checks: 'none', failed_checks: [] });

      await bench.forge.closePullRequest(bench.ref, opened.number);
      const closed = await asked();
      expect(closed).to.include({ state: 'closed', head_commit: commit });
      expect(Math.abs(Date.parse(closed.ended_at!) - Date.now())).to.be.below(60_000);

      const second = await bench.forge.openPullRequest(bench.ref, request);
      await bench.merge(second.number);
      await bench.deleteBranch(request.head);
      const merged = await bench.forge.pullRequest(bench.ref, second.number);
      expect(merged).to.include({ state: 'merged', head: request.head, head_commit: commit });
      expect(Math.abs(Date.parse(merged.ended_at!) - Date.now())).to.be.below(60_000);
    });

    it('reports the state of a pull request’s checks', async () => {
      const commit = await bench.addBranch('core/3-checks', { 'checks.txt': 'x\n' });
      const request = { title: 'Checks', body: '', head: 'core/3-checks', base: 'main' };
      const { number } = await bench.forge.openPullRequest(bench.ref, request);
      const checks = async () => {
        const { checks: state, failed_checks } = await bench.forge.pullRequest(bench.ref, number);
        return [state, ...failed_checks];
      };
      expect(await checks()).to.deep.equal(['none']);
      // The local forge knows no checks.
      if (bench.check === null) return;
      await bench.check({
        commit: '0'.repeat(40),
        name: 'of another commit',
        state: 'failure',
        kind: 'status',
      });
      await bench.check({ commit, name: 'unit', state: 'success', kind: 'check_run' });
      expect(await checks()).to.deep.equal(['passed']);
      await bench.check({ commit, name: 'slow', state: 'pending', kind: 'check_run' });
      expect(await checks()).to.deep.equal(['pending']);
      await bench.check({ commit, name: 'legal', state: 'failure', kind: 'status' });
      await bench.check({ commit, name: 'build', state: 'failure', kind: 'check_run' });
      expect(await checks()).to.deep.equal(['failed', 'build', 'legal']);
    });

    it('refuses a pull request between branches that are not there or do not differ', async () => {
      await bench.addBranch('core/there', { 'there.txt': 'x\n' });
      const open = (head: string, base: string): Promise<CoreError> =>
        failure(bench.forge.openPullRequest(bench.ref, { title: 'x', body: '', head, base }));
      for (const error of [
        await open('core/absent', 'main'),
        await open('core/there', 'absent'),
        await open('main', 'main'),
      ]) {
        expect(['forge_refused', 'branch_not_found']).to.include(error.code);
      }
      expect(await bench.forge.findPullRequests(bench.ref, 'core/there')).to.deep.equal([]);
    });

    it('says that a pull request is not there', async () => {
      const number = await issueBy('mira');
      for (const absent of [number, 4711]) {
        for (const asked of [
          () => bench.forge.closePullRequest(bench.ref, absent),
          () => bench.forge.pullRequest(bench.ref, absent),
        ]) {
          expect(await failure(asked())).to.include({ code: 'pull_request_not_found' });
        }
      }
    });

    it('means a repository by its id, whatever it is called, and never another that took its name', async () => {
      const { repository_id } = await bench.forge.repository(bench.ref);
      const bound = { ...bench.ref, repository_id };
      const number = await issueBy('mira');
      await bench.addBranch('core/bound', { 'bound.txt': 'bound\n' });
      const pull = await bench.forge.openPullRequest(bound, {
        ...{ title: 'Bound', body: '', head: 'core/bound', base: 'main' },
      });
      await bench.rename('hello', 'greetings');
      await bench.make('hello');
      const other = await bench.forge.repository(bench.ref);
      expect(other.repository_id).not.to.equal(repository_id);
      expect(await bench.forge.repository(bound)).to.include({ repo: 'greetings', repository_id });
      expect((await bench.forge.issue(bound, number)).number).to.equal(number);
      const { id } = await bench.forge.comment(bound, number, 'found you');
      const named = { owner: 'demo', repo: 'greetings' };
      for (const ref of [named, bound])
        expect((await bench.forge.comments(ref, number)).map((comment) => comment.id)).to.deep.equal([id]);
      await bench.forge.deleteComment(bound, number, id);
      await bench.forge.closePullRequest(bound, pull.number);
      expect((await bench.forge.pullRequest(named, pull.number)).state).to.equal('closed');
      expect(await bench.forge.listIssues(bench.ref, { state: 'all', limit: 9 })).to.deep.equal([]);

      await bench.remove('greetings');
      for (const asked of [
        () => bench.forge.repository(bound),
        () => bench.forge.issue(bound, number),
        () => bench.forge.comments(bound, number),
        () => bench.forge.pullRequest(bound, pull.number),
        () => bench.forge.findPullRequests(bound, 'core/bound'),
        () => bench.forge.protection(bound, 'main'),
        () => bench.forge.comment(bound, number, 'x'),
        () => bench.forge.deleteComment(bound, number, id),
        () => bench.forge.closePullRequest(bound, pull.number),
        () => bench.forge.openPullRequest(bound, { title: 'x', body: '', head: 'core/x', base: 'main' }),
      ]) {
        const error = await failure(asked());
        expect(error.code).to.equal('repository_not_found');
        expect(error.message).to.contain(repository_id).and.to.contain('demo/hello');
      }
    });

    it('refuses an id that is none before it does anything with it', async () => {
      for (const repository_id of ['', '..', '../1', 'a b', '1/2', 'x'.repeat(65)])
        expect(await failure(bench.forge.repository({ ...bench.ref, repository_id }))).to.include({
          code: 'invalid_repository_id',
        });
    });
  });
}

/** The error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<CoreError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CoreError) return error;
    throw error;
  }
  throw new Error('the call succeeded, and must not');
}
