import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { CoreError } from '#kit/errors.ts';
import { checkedCloneUrl } from '../../services/agentd/forges/clone-url.ts';
import type { ConfiguredForge } from '../../services/agentd/forges/configured-forge.ts';
import type { ServedRule } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { until } from '../fixtures/until.ts';
import { itWith } from '../needs.ts';
import { giteaBench, githubBench, type RemoteBench } from './forge.benches.ts';
import { failure } from './forge.contract.ts';

for (const [name, open] of [
  ['github', githubBench],
  ['gitea', giteaBench],
] as const) {
  describe(`a ${name} forge in trouble`, () => {
    let bench: RemoteBench;
    let number: number;

    beforeEach(async () => {
      bench = await open();
      number = await bench.issue({ title: 'Greeting is wrong', body: 'It is.', author: 'mira' });
    });

    afterEach(async () => {
      await bench.close();
      expect(bench.violations()).to.deep.equal([]);
    });

    const sent = (method: string): string[] =>
      bench.server.state.requests.filter((line) => line.startsWith(`${method} `));
    const comments = /\/issues\/\d+\/comments$/;
    const issue = /\/issues\/\d+$/;

    it('says that nothing can be pushed without a token, and that what is not reported is unknown', async () => {
      const asked = async (forge: ConfiguredForge) => (await forge.repository(bench.ref)).access;
      const none = await asked(bench.again({ token_file: null }));
      expect(none).to.include({ push: false, pull_request: false });
      expect(none.reason).to.contain('has no token');
      bench.server.state.reportsPermissions = false;
      const unknown = await asked(bench.forge);
      expect(unknown).to.include({ push: null, pull_request: null });
      expect(unknown.reason).to.not.equal('');
    });

    itWith(
      name === 'gitea' ? [] : ['time'],
      'is not read for ever where its list of changed issues has no end',
      async () => {
        const url = `${bench.server.url}${name === 'github' ? '/api/v3' : '/api/v1'}/repos/demo/hello/issues`;
        const [entry = {}] = (await (await fetch(url)).json()) as Record<string, unknown>[];
        const { number, title, state, locked, created_at, updated_at, html_url, repository_url } = entry;
        const pull = { number, title, state, locked, created_at, updated_at, html_url, repository_url };
        Object.assign(pull, { user: null, labels: [], pull_request: {} });
        const body = JSON.stringify(name === 'github' ? Array(100).fill(pull) : [entry]);
        const headers = { link: `<${url}?page=2>; rel="next"` };
        const path = /\/issues$/;
        bench.server.faults.push({ path, times: 5_000, answer: { status: 200, headers, body } });
        const before = sent('GET').length;
        const since = '2020-01-01T00:00:00Z';
        const error = await failure(bench.forge.changedIssues(bench.ref, { since, limit: 500 }));
        expect(error).to.include({ name: 'Refused', code: 'forge_reply_endless' });
        expect(error.message).to.contain('more than 1000 pages of changed issues of demo/hello');
        expect(sent('GET').length - before).to.equal(1_000);
      },
    );

    if (name === 'gitea') {
      it('reports disabled pull requests', async () => {
        bench.served.pull_requests = false;
        const { access } = await bench.forge.repository(bench.ref);
        expect(access).to.include({ push: true, pull_request: false });
        expect(access.reason).to.contain('switched off');
      });
    } else {
      it('reports a classic token without the scope, and knows no scopes of an app’s token', async () => {
        const { state } = bench.server;
        const asked = async (forge = bench.forge) => (await forge.repository(bench.ref)).access;
        for (const scopes of ['repo, read:org', 'public_repo']) {
          state.scopes = scopes.split(', ');
          expect((await asked()).push, scopes).to.equal(true);
        }
        for (const scopes of ['', 'gist, read:org']) {
          state.scopes = scopes.split(', ');
          const { push, reason } = await asked();
          expect(push, scopes).to.equal(false);
          expect(reason).to.contain('lacks the scope repo');
        }
        state.scopes = null;
        await bench.letWrite!(false);
        expect((await asked(bench.again({ account: state.account }))).push).to.equal(null);
      });
    }

    it('asks again when a read fails with 5xx, and gives the answer', async () => {
      bench.server.faults.push({ path: issue, times: 2, answer: { status: 502, body: 'bad gateway' } });
      expect((await bench.forge.issue(bench.ref, number)).number).to.equal(number);
      expect(sent('GET').filter((line) => line.endsWith(`/issues/${number}`))).to.have.length(3);
    });

    it('gives up on a read after three tries', async () => {
      bench.server.faults.push({
        path: issue,
        times: 9,
        answer: { status: 503 },
      });
      const error = await failure(bench.forge.issue(bench.ref, number));
      expect(error).to.include({
        name: 'Unavailable',
        code: 'forge_unavailable',
        retryable: true,
        exitCode: 5,
      });
      expect(error.message.match(/503/g), error.message).to.have.length(1);
      expect(sent('GET')).to.have.length(3);
    });

    it('leaves a comment that was made in spite of a 502 as unknown, and finds it later', async () => {
      const { forge_time } = await bench.forge.repository(bench.ref);
      bench.server.faults.push({
        method: 'POST',
        path: comments,
        effect: true,
        answer: { status: 502, body: '<html>' },
      });
      const error = await failure(bench.forge.comment(bench.ref, number, 'Done <!-- marker -->'));
      expect(error).to.include({ name: 'Unavailable', code: 'forge_unavailable' });
      expect(error.message).to.contain('not known');
      expect(sent('POST')).to.have.length(1);
      const { id } = await bench.forge.self();
      const found = await bench.forge.comments(bench.ref, number, { since: forge_time });
      expect(found.filter(({ author, body }) => author.id === id && body.includes('marker'))).to.have.length(
        1,
      );
    });

    it('sends no write twice, whatever went wrong', async () => {
      for (const answer of [
        { status: 500 },
        { status: 503, headers: { 'retry-after': '1' } },
        { status: 408 },
        'reset',
      ] as const) {
        bench.server.faults.push({ method: 'POST', path: comments, answer });
        const before = sent('POST').length;
        const error = await failure(bench.forge.comment(bench.ref, number, 'once'));
        expect(error).to.include({ name: 'Unavailable', code: 'forge_unavailable' });
        expect(sent('POST').length - before).to.equal(1);
      }
      expect(await bench.forge.comments(bench.ref, number)).to.deep.equal([]);
    });

    it('ends a request that takes too long', async () => {
      const hasty = bench.again({ timeout_ms: 1_500 });
      bench.server.faults.push({ method: 'POST', path: comments, effect: true, answer: 'hang' });
      const write = await failure(hasty.comment(bench.ref, number, 'slow'));
      expect(write).to.include({ name: 'TimedOut', code: 'forge_timeout', status: 504 });
      expect(write.message).to.contain('not known');
      expect(await bench.forge.comments(bench.ref, number)).to.have.length(1);
      bench.server.faults.push({ path: issue, times: 9, answer: 'hang' });
      expect(await failure(bench.again({ timeout_ms: 60 }).issue(bench.ref, number))).to.include({
        name: 'TimedOut',
        code: 'forge_timeout',
      });
    });

    it('stops waiting for a read that is cancelled', async () => {
      bench.server.faults.push({ path: issue, answer: 'hang' });
      const patient = bench.again({ timeout_ms: 250_000 });
      const [before, stop] = [sent('GET').length, new AbortController()];
      const read = failure(patient.issue(bench.ref, number, stop.signal));
      await until('a request', () => sent('GET').length > before);
      stop.abort();
      expect(await read).to.include({ name: 'Interrupted', code: 'interrupted' });
      expect(sent('GET')).to.have.length(before + 1);
      expect(await failure(bench.forge.repository(bench.ref, AbortSignal.abort()))).to.include({
        name: 'Interrupted',
      });
    });

    it('waits for the end of every kind of limit that comes before the deadline of a read', async () => {
      const patient = bench.again({ timeout_ms: 250_000 });
      const soon = () => String(Math.ceil(Date.now() / 1000) + 1);
      const limits = [
        { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon() } },
        { status: 429, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon() } },
        { status: 403, headers: { 'retry-after': '1' } },
        { status: 429, headers: { 'retry-after': '1' } },
        { status: 503, headers: { 'retry-after': '1' } },
      ];
      for (const answer of limits) {
        const before = sent('GET').length;
        bench.server.faults.push({ path: issue, answer });
        expect((await patient.issue(bench.ref, number)).number).to.equal(number);
        const again = sent('GET')
          .slice(before)
          .filter((line) => line.endsWith(`/issues/${number}`));
        expect(again, JSON.stringify(answer)).to.have.length(2);
      }
    });

    it('ends the wait for a limit when its caller does', async () => {
      const patient = bench.again({ timeout_ms: 250_000 });
      const answer = { status: 429, headers: { 'retry-after': '200' } };
      bench.server.faults.push({ path: issue, answer });
      const stop = new AbortController();
      const read = failure(patient.issue(bench.ref, number, stop.signal));
      await until('a request', () => sent('GET').some((line) => line.endsWith(`/issues/${number}`)));
      stop.abort();
      expect(await read).to.include({ name: 'Interrupted', code: 'interrupted' });
    });

    it('asks whether an answer still holds, and gives the new one where it does not', async () => {
      const { unchanged } = bench.server.state;
      const first = await bench.forge.issue(bench.ref, number);
      expect(await bench.forge.issue(bench.ref, number)).to.deep.equal(first);
      expect(unchanged.filter((url) => url.endsWith(`/issues/${number}`))).to.have.length(1);
      bench.served.issues[0]!.title = 'Greeting is still wrong';
      expect((await bench.forge.issue(bench.ref, number)).title).to.equal('Greeting is still wrong');
      const { forge_time } = await bench.forge.repository(bench.ref);
      await until('a later second', async () => new Date().toISOString() > `${forge_time.slice(0, 19)}.999Z`);
      expect((await bench.forge.repository(bench.ref)).forge_time > forge_time).to.equal(true);
    });

    it('shows nobody what another token was shown', async () => {
      await bench.forge.issue(bench.ref, number);
      const { unchanged } = bench.server.state;
      const before = unchanged.length;
      await bench
        .again({ token_file: null })
        .issue(bench.ref, number)
        .catch(() => {});
      expect(unchanged).to.have.length(before);
    });

    it('reports a limit that ends after the deadline of a read, with the seconds until then', async () => {
      const reset = Math.ceil(Date.now() / 1000) + 250;
      const limits = [
        {
          headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) },
          status: 403,
          near: 250,
        },
        { headers: { 'retry-after': '30' }, status: 403, near: 30 },
        { headers: { 'retry-after': '45' }, status: 429, near: 45 },
        { headers: {}, status: 429, near: 60 },
      ];
      for (const { headers, status, near } of limits) {
        const body = { message: 'You have exceeded a secondary rate limit.', documentation_url: '' };
        bench.server.faults.push({ path: issue, answer: { status, headers, body } });
        const before = sent('GET').length;
        const error = await failure(bench.forge.issue(bench.ref, number));
        expect(error).to.include({ name: 'RateLimited', code: 'forge_rate_limited' });
        expect(error.retryAfter).to.be.within(near - (near > 60 ? 100 : 2), near + 2);
        expect(sent('GET').length - before).to.equal(1);
      }
    });

    it('reads Retry-After in seconds and as a date, and believes no hostile one', async () => {
      const date = 'Sun, 06 Nov 2094 08:49:37 GMT';
      const waits: [string, number | undefined][] = [
        ['30', 30],
        ['0', 1],
        ['99999999999999999999', 86_400],
        ['-5', 60],
        ['1.5', 2],
        ['5 apples', 60],
        ['', 60],
        ['2094-11-06', 60],
        ['1e9', 60],
        ['Sun, 06 Nov 2094 08:50:07 GMT', 30],
        ['Sunday, 06-Nov-94 08:50:07 GMT', 1],
        ['Sun Nov  6 08:50:07 2094', 30],
        ['Sun, 06 Nov 1994 08:49:37 GMT', 1],
        ['Sun, 06 Nov 2994 08:49:37 GMT', 86_400],
      ];
      for (const [value, expected] of waits) {
        const headers = { 'retry-after': value, date };
        bench.server.faults.push({ method: 'POST', path: comments, answer: { status: 429, headers } });
        const error = await failure(bench.forge.comment(bench.ref, number, 'x'));
        expect(error, value).to.include({ code: 'forge_rate_limited', retryAfter: expected });
      }
    });

    if (name === 'github') {
      it('reads the rules of a branch on every page', async () => {
        const { rules } = bench.served;
        for (let index = 0; index < 100; index++) rules.push({ branches: 'core/*', type: 'deletion' });
        rules.push({ branches: 'core/*', type: 'creation' });
        const { protected: closed, reason } = await bench.forge.protection(bench.ref, 'core/1-x');
        expect(closed).to.equal(true);
        expect(reason).to.contain('creation');
      });

      it('judges the rules of rulesets one by one, by their terms and by who may bypass them', async () => {
        const { rules, rulesets } = bench.served;
        const asked = async (...of: readonly Omit<ServedRule, 'branches'>[]) => {
          rules.splice(0, Infinity, ...of.map((rule) => ({ branches: 'core/*', ...rule })));
          return bench.forge.protection(bench.ref, 'core/1-x');
        };
        const pattern = (pattern: string, more = {}) => ({
          ...{ type: 'branch_name_pattern', ruleset_id: 7 },
          parameters: { operator: 'starts_with', pattern, ...more },
        });
        const closed = async (...of: readonly Omit<ServedRule, 'branches'>[]) => (await asked(...of)).reason;
        for (const current_user_can_bypass of ['never', 'pull_requests_only', 'always'] as const) {
          rulesets.splice(0, Infinity, { id: 7, name: 'no bots', current_user_can_bypass });
          const mayPass = current_user_can_bypass === 'always';
          const source = "ruleset 'no bots' (7) of monalisa/my-repo";
          expect(await closed({ type: 'creation', ruleset_id: 7 })).to.equal(
            mayPass ? '' : `rule creation of ${source}`,
          );
          const named = `rule branch_name_pattern of ${source}, the name must start with "feature/"`;
          expect(await closed(pattern('feature/'))).to.equal(mayPass ? '' : named);
          expect(await closed({ type: 'pull_request', ruleset_id: 7 })).to.equal(
            `rule pull_request of ${source}`,
          );
          expect((await asked({ type: 'deletion', ruleset_id: 7 })).rules).to.deep.equal([
            { kind: 'deletion', source, bypass: current_user_can_bypass },
          ]);
        }
        rulesets.splice(0);
        expect(await closed(pattern('core/'))).to.equal('');
        expect(await closed(pattern('core/', { negate: true }))).to.contain('must not start with "core/"');
        expect(await closed(pattern('^core/\\d+-', { operator: 'regex' }))).to.equal('');
        expect(await closed(pattern('^(?i)CORE', { operator: 'regex' }))).to.equal('');
        const { rules: found } = await asked({ type: 'creation', ruleset_id: 8 }, { type: 'workflows' });
        expect(found).to.deep.equal([
          { kind: 'creation', source: 'ruleset 8 of monalisa/my-repo', bypass: null },
          { kind: 'unknown', type: 'workflows', source: 'ruleset 42 of monalisa/my-repo', bypass: null },
        ]);
      });

      it('knows no rules where the plan of the account has none, and is refused where they are hidden', async () => {
        const path = /\/rules\/branches\//;
        const forbidden = { status: 403, undocumented: true } as const;
        const gate = 'Upgrade to GitHub Pro or make this repository public to enable this feature.';
        bench.server.faults.push({ path, answer: { ...forbidden, body: { message: gate } } });
        expect((await bench.forge.protection(bench.ref, 'core/1-x')).protected).to.equal(false);
        const hidden = { message: 'Resource not accessible by integration' };
        bench.server.faults.push({ path, answer: { ...forbidden, body: hidden } });
        const error = await failure(bench.forge.protection(bench.ref, 'core/1-x'));
        expect(error).to.include({ code: 'forge_unauthorized' });
        expect(error.message).to.contain('not accessible by integration');
      });
    }

    it('asks once for what is not there', async () => {
      await failure(bench.forge.repository({ owner: 'demo', repo: 'absent' }));
      expect(sent('GET')).to.deep.equal(['GET /repos/demo/absent']);
    });

    it('follows a renamed repository for reads, and writes under its new name', async () => {
      Object.assign(bench.served, { repo: 'hello-world' });
      bench.served.former_names.push('demo/hello');
      expect(await bench.forge.repository(bench.ref)).to.include({ owner: 'demo', repo: 'hello-world' });
      expect((await bench.forge.issue(bench.ref, number)).number).to.equal(number);
      const made = await bench.forge.comment(bench.ref, number, 'found you');
      expect(sent('POST')).to.deep.equal([`POST /repos/demo/hello-world/issues/${number}/comments`]);
      expect((await bench.forge.comments(bench.ref, number)).map(({ id }) => id)).to.deep.equal([made.id]);
      expect(await bench.forge.findPullRequests(bench.ref, 'core/1')).to.deep.equal([]);
      expect((await bench.forge.protection(bench.ref, 'main')).protected).to.equal(true);
    });

    it('does not follow a redirect to another host, so that the token stays', async () => {
      const elsewhere = await startGiteaServer();
      const location = `${elsewhere.url}/api/v1/user`;
      bench.server.faults.push({ path: issue, answer: { status: 301, headers: { location } } });
      expect(await failure(bench.forge.issue(bench.ref, number))).to.include({
        name: 'Refused',
        code: 'forge_redirected',
      });
      expect(elsewhere.state.requests).to.deep.equal([]);
      await elsewhere.close();
    });

    it('does not follow a redirect of a write', async () => {
      bench.server.faults.push({
        method: 'POST',
        path: comments,
        answer: { status: 307, headers: { location: '/elsewhere' } },
      });
      expect(await failure(bench.forge.comment(bench.ref, number, 'x'))).to.include({
        name: 'Refused',
        code: 'forge_redirected',
      });
      expect(sent('POST')).to.have.length(1);
    });

    it('refuses an answer that is not what the API promises', async () => {
      for (const body of ['<html>login</html>', '{"number":', { number: 'one' }, [], 'null']) {
        bench.server.faults.push({ path: issue, answer: { status: 200, body } });
        const error = await failure(bench.forge.issue(bench.ref, number));
        expect(error, JSON.stringify(body)).to.include({ name: 'InvalidInput', code: 'forge_reply_invalid' });
      }
    });

    it('takes a clone URL only where base_url is, or where clone_base_url names it', async () => {
      const origin = new URL(bench.server.url).origin;
      const strict = bench.again({ clone_base_url: null });
      const asked = (forge: ConfiguredForge, clone_url: string): Promise<CoreError | string> => {
        Object.assign(bench.served, { clone_url });
        return forge.repository(bench.ref).then(
          ({ push_url }) => push_url,
          (error: CoreError) => error,
        );
      };
      expect(await asked(strict, `${origin}/demo/hello.git`)).to.equal(`${origin}/demo/hello.git`);
      const tls = { name: 'remote', base_url: origin.replace('http:', 'https:'), clone_base_url: null };
      expect(() => checkedCloneUrl(`${origin}/demo/hello.git`, tls)).to.throw('is not at https://');
      for (const url of [
        'ext::sh -c "touch /tmp/pwned"',
        `https://${new URL(origin).host}/demo/hello.git`,
        `http://localhost:${new URL(origin).port}/demo/hello.git`,
        'http://127.0.0.1:9/demo/hello.git',
        'https://git.example.org/demo/hello.git',
        `http://me:secret@${new URL(origin).host}/demo/hello.git`,
        `${origin}/demo/hello.git?x`,
        `${origin}\\@evil.example/hello.git`,
        `${origin}.evil.example/hello.git`,
        'ssh://git@127.0.0.1/demo/hello.git',
        bench.bare,
        `file://${bench.bare}`,
        '--upload-pack=touch /tmp/pwned',
      ]) {
        const error = await asked(strict, url);
        expect(error, url).to.include({ name: 'Refused', code: 'clone_url_refused' });
        expect((error as CoreError).hint)
          .to.contain('clone_base_url')
          .and.contain('remote');
        expect(`${(error as CoreError).message}`).to.not.contain('secret');
      }
      const named = bench.again({ clone_base_url: 'http://127.0.0.1:9' });
      expect(await asked(named, 'http://127.0.0.1:9/a.git')).to.equal('http://127.0.0.1:9/a.git');
      expect(await asked(named, bench.bare)).to.include({ code: 'clone_url_refused' });
      expect(await named.gitCredential()).to.deep.include({ origins: [origin, 'http://127.0.0.1:9'] });
      expect(await strict.gitCredential()).to.deep.include({ origins: [origin] });
      const folder = bench.again({ clone_base_url: 'file:///srv/git' });
      expect(await asked(folder, '/srv/git/a.git')).to.equal('/srv/git/a.git');
      for (const url of ['/srv/git/../a.git', '/srv/gitea/a.git', '/etc'])
        expect(await asked(folder, url), url).to.include({ code: 'clone_url_refused' });
    });

    it('stops reading an answer that does not end', async () => {
      bench.server.faults.push({
        path: issue,
        times: 3,
        answer: { status: 200, body: `"${'x'.repeat(33 * 1024 * 1024)}"` },
      });
      expect(await failure(bench.forge.issue(bench.ref, number))).to.include({
        name: 'TooLarge',
        code: 'forge_reply_too_large',
      });
      expect(sent('GET')).to.have.length(1);
    });

    it('says that nobody listens there', async () => {
      const nobody = bench.again({ base_url: 'http://127.0.0.1:9' });
      const error = await failure(nobody.repository(bench.ref));
      expect(error).to.include({ name: 'Unavailable', code: 'forge_unavailable' });
      expect(error.message).to.contain('http://127.0.0.1:9');
    });

    it('asks for its own account once', async () => {
      const id = String(bench.server.state.user('core-bot').id);
      expect(await bench.forge.self()).to.deep.equal({ login: 'core-bot', id });
      expect(await bench.forge.self()).to.deep.equal({ login: 'core-bot', id });
      expect(sent('GET')).to.deep.equal(['GET /user']);
    });

    it('asks again who it is when the token is another, and holds the answer against account', async () => {
      const tokenFile = join(bench.bare, 'token');
      writeFileSync(tokenFile, bench.server.state.token);
      const forge = bench.again({ token_file: tokenFile });
      const strict = bench.again({ token_file: tokenFile, account: 'Core-Bot' });
      expect((await forge.self()).login).to.equal('core-bot');
      expect((await strict.self()).login).to.equal('core-bot');
      Object.assign(bench.server.state, { account: 'else-bot', token: 'another-token' });
      writeFileSync(tokenFile, 'another-token');
      expect((await forge.self()).login).to.equal('else-bot');
      const error = await failure(strict.self());
      expect(error).to.include({ name: 'Refused', code: 'forge_account_differs' });
      expect(error.message).to.contain('else-bot').and.contain('Core-Bot').and.contain(tokenFile);
    });

    it('says where a token belongs, and never shows one', async () => {
      const folder = bench.bare;
      const none = bench.again({ token_file: join(folder, 'no-token') });
      expect(none.missing()).to.contain('no-token');
      expect((await none.issue(bench.ref, number)).number).to.equal(number);
      for (const call of [none.self(), none.comment(bench.ref, number, 'x')]) {
        const error = await failure(call);
        expect(error).to.include({ name: 'Unauthorized', code: 'forge_unauthorized' });
        expect(error.hint).to.contain('no-token');
      }
      writeFileSync(join(folder, 'wrong'), 'sekret-wrong-token\n');
      const wrong = await failure(bench.again({ token_file: join(folder, 'wrong') }).self());
      expect(wrong).to.include({ name: 'Unauthorized', code: 'forge_unauthorized', exitCode: 3 });
      expect(wrong.message)
        .to.contain(`the token in ${join(folder, 'wrong')}`)
        .and.contain('revoked');
      expect(inspect(wrong, { depth: 10 })).to.not.contain('sekret-wrong-token');
      writeFileSync(join(folder, 'two'), 'one\ntwo\n');
      const two = await failure(bench.again({ token_file: join(folder, 'two') }).self());
      expect(two).to.include({ code: 'forge_token_invalid' });
      expect(two.message).to.not.contain('one\ntwo');
      expect(await bench.forge.gitCredential()).to.include({ password: bench.server.state.token });
      expect(await none.gitCredential()).to.equal(null);
    });

    it('trusts a collaborator only with write permission', async () => {
      bench.served.readers.push('reader');
      const theirs = await bench.issue({ title: 'x', body: '', author: 'reader' });
      const { author } = await bench.forge.issue(bench.ref, theirs);
      expect(author).to.include({ login: 'reader', association: 'none' });
      expect(author.unknown).to.equal(undefined);
      expect((await bench.forge.issue(bench.ref, number)).author.association).to.equal('collaborator');
    });

    it('says that it could not learn who may write, and takes them for outsiders', async () => {
      bench.served.administered = false;
      bench.server.state.addComment(bench.served, { issue: number, body: 'me too', author: 'mira' });
      const { author } = await bench.forge.issue(bench.ref, number);
      expect(author).to.include({ login: 'mira', association: 'none' });
      expect(author.unknown).to.contain('mira').and.contain('could not be learned');
      expect((await bench.forge.comments(bench.ref, number))[0]!.author.unknown).to.equal(author.unknown);
    });

    it('does not take the pull request of a fork for its own', async () => {
      const pull = { title: 'Theirs', body: '', head: 'core/1-greeting', base: 'main', author: 'stranger' };
      bench.server.state.addPullRequest(bench.served, { ...pull, fork_owner: 'stranger' });
      expect(await bench.forge.findPullRequests(bench.ref, 'core/1-greeting')).to.deep.equal([]);
    });

    it('finds a pull request behind several pages of others', async () => {
      const pull = { title: 'x', body: '', base: 'main', author: 'mira' };
      bench.server.state.addPullRequest(bench.served, { ...pull, head: 'core/old' });
      for (let index = 0; index < 60; index++) {
        bench.server.state.addPullRequest(bench.served, {
          ...pull,
          head: `topic-${index}`,
          head_commit: 'a'.repeat(40),
        });
      }
      expect(await bench.forge.findPullRequests(bench.ref, 'core/old')).to.have.length(1);
    });
  });
}

describe('a github forge', () => {
  let bench: RemoteBench;

  beforeEach(async () => {
    bench = await githubBench();
  });

  afterEach(async () => {
    await bench.close();
    expect(bench.violations()).to.deep.equal([]);
  });

  it('waits out a rate limit for a read, never for a write, also with its own pauses between writes', async () => {
    const polite = bench.again({ name: 'polite', throttle: true });
    const number = await bench.issue({ title: 'x', body: '', author: 'mira' });
    const body = { message: 'You have exceeded a secondary rate limit.', documentation_url: '' };
    const answer = { status: 403, headers: { 'retry-after': '1' }, body };
    bench.server.faults.push({ method: 'GET', path: /\/issues\/\d+$/, answer });
    expect((await polite.issue(bench.ref, number)).number).to.equal(number);
    bench.server.faults.push({ method: 'POST', path: /\/comments$/, answer });
    expect(await failure(polite.comment(bench.ref, number, 'x'))).to.include({
      name: 'RateLimited',
      code: 'forge_rate_limited',
      retryAfter: 1,
    });
    expect(bench.server.state.requests.filter((line) => line.startsWith('POST'))).to.have.length(1);
  });

  it('does not read an issue that was moved to another repository', async () => {
    const other = bench.server.state.addRepository({ owner: 'demo', repo: 'other', bare: bench.bare });
    const moved = bench.server.state.addIssue(other, { title: 'Moved', body: '', author: 'mira' });
    const number = await bench.issue({ title: 'x', body: '', author: 'mira' });
    bench.served.issues[0]!.moved_to = { owner: 'demo', repo: 'other', number: moved.number };
    const error = await failure(bench.forge.issue(bench.ref, number));
    expect(error).to.include({ name: 'NotFound', code: 'issue_not_found' });
    expect(error.message).to.contain('demo/other');
  });

  it('acts as the configured account where an app may not ask who it is', async () => {
    const answer = { status: 403, body: { message: 'Resource not accessible by integration' } };
    bench.server.faults.push({ path: /^\/user$/, times: 2, answer });
    expect(await failure(bench.forge.self())).to.include({ code: 'forge_unauthorized' });
    const id = String(bench.server.state.user('core-bot').id);
    expect(await bench.again({ account: 'core-bot' }).self()).to.deep.equal({ login: 'core-bot', id });
  });

  it('distinguishes programs and deleted accounts from people', async () => {
    const number = await bench.issue({ title: 'x', body: '', author: 'mira' });
    const { forge } = bench;
    bench.server.state.addComment(bench.served, { issue: number, body: 'beep', author: 'helper[bot]' });
    bench.server.state.addComment(bench.served, { issue: number, body: 'boo', author: 'ghost' });
    const authors = (await forge.comments(bench.ref, number)).map(({ author }) => author);
    expect(authors).to.deep.equal([
      {
        id: String(bench.server.state.user('helper[bot]').id),
        login: 'helper[bot]',
        association: 'none',
        bot: true,
      },
      { login: 'ghost', association: 'none', bot: false },
    ]);
  });
});

describe('a gitea forge', () => {
  it('counts members of the owning organisation, and the owner, as insiders', async () => {
    const bench = await giteaBench();
    bench.served.members.push('noor');
    const number = await bench.issue({ title: 'x', body: '', author: 'noor' });
    expect((await bench.forge.issue(bench.ref, number)).author.association).to.equal('member');
    const own = await bench.issue({ title: 'x', body: '', author: 'demo' });
    expect((await bench.forge.issue(bench.ref, own)).author.association).to.equal('owner');
    bench.served.administered = false;
    const again = bench.again({ name: 'again' });
    expect((await again.issue(bench.ref, number)).author.association).to.equal('member');
    const message =
      'token does not have at least one of required scope(s), required=[read:organization], token scope=write:issue';
    bench.server.faults.push({
      path: /\/orgs\/demo\/members\/noor$/,
      answer: { status: 403, body: { message } },
    });
    const { author } = await bench.again({}).issue(bench.ref, number);
    expect(author.association).to.equal('none');
    expect(author.unknown).to.contain('read:organization').and.contain('token');
    const location = '/api/v1/orgs/demo/public_members/noor';
    bench.server.faults.push({
      path: /\/orgs\/demo\/members\/noor$/,
      answer: { status: 303, headers: { location } },
    });
    const hidden = await bench.again({}).issue(bench.ref, number);
    expect(hidden.author.unknown).to.contain('public members');
    await bench.close();
    expect(bench.violations()).to.deep.equal([]);
  });
});
