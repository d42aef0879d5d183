import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { GiteaForge } from '../../services/agentd/forges/gitea/gitea-forge.ts';
import { addBranch, gitIn, makeBareRepository } from '../fixtures/forges/bare-repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import type { ForgeBench } from './forge.benches.ts';

const ref = { owner: 'demo', repo: 'hello' };
const account = 'core-bot';
const password = 'only-for-tests-0123';
const Numbered = t.strict({ number: t.number });

interface RealGiteaBench extends ForgeBench {
  /** The same forge with another token. */
  withScopes(scopes: readonly string[]): Promise<GiteaForge>;
}

/**
 * A real Gitea, by an administrator's name and password. Its users demo, mira, stranger and core-bot and the repository
 * demo/hello are replaced.
 */
export async function realGiteaBench(): Promise<RealGiteaBench> {
  const url = environment.CORE_TEST_GITEA_URL!.replace(/\/$/, '');
  const { CORE_TEST_GITEA_USER: user = '', CORE_TEST_GITEA_PASSWORD: secret = '' } = environment;
  const administrator = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  const base = `/repos/${ref.owner}/${ref.repo}`;

  async function attempt(
    method: string,
    path: string,
    body?: unknown,
    as?: string,
    authorization = administrator,
  ) {
    const headers = {
      authorization,
      'content-type': 'application/json',
      ...(as === undefined ? {} : { sudo: as }),
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...sent });
    return { status: response.status, text: await response.text() };
  }

  async function api(...request: Parameters<typeof attempt>): Promise<unknown> {
    const { status, text } = await attempt(...request);
    if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${status} ${text.slice(0, 300)}`);
    return text === '' ? null : JSON.parse(text);
  }

  async function haveUser(username: string): Promise<void> {
    const common = { password, must_change_password: false };
    const made = await attempt('POST', '/admin/users', {
      ...common,
      username,
      email: `${username}@example.org`,
    });
    if (made.status === 422)
      await api('PATCH', `/admin/users/${username}`, { ...common, login_name: username, source_id: 0 });
    else if (made.status !== 201) throw new Error(`user ${username}: ${made.status} ${made.text}`);
  }

  let tokens = 0;
  async function newToken(
    scopes: readonly string[] = ['write:repository', 'write:issue', 'read:user', 'read:organization'],
  ): Promise<string> {
    const own = `Basic ${Buffer.from(`${account}:${password}`).toString('base64')}`;
    const name = `tests-${process.pid}-${Date.now()}-${tokens++}`;
    const made = await api('POST', `/users/${account}/tokens`, { name, scopes }, undefined, own);
    return decode(t.strict({ sha1: t.string }), made, 'new token').sha1;
  }

  const folder = temporaryFolder();
  const bare = makeBareRepository(folder);
  for (const name of [ref.owner, 'mira', 'stranger', account]) await haveUser(name);
  await attempt('DELETE', base);
  await api('POST', `/admin/users/${ref.owner}/repos`, { name: ref.repo, default_branch: 'main' });
  await api('PUT', `${base}/collaborators/mira`, { permission: 'write' });
  await api('PUT', `${base}/collaborators/${account}`, { permission: 'admin' });
  const remote = new URL(`${url}/${ref.owner}/${ref.repo}.git`);
  remote.username = ref.owner;
  remote.password = password;
  const push = (...refspecs: string[]): string => gitIn(bare, ['push', '--quiet', remote.href, ...refspecs]);
  push('main');
  // A branch is registered in the background.
  await until('the branch main', async () => (await attempt('GET', `${base}/branches/main`)).status === 200);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, await newToken(), { mode: 0o600 });

  async function labelIds(names: readonly string[]): Promise<number[]> {
    const ids: number[] = [];
    const Label = t.strict({ id: t.number, name: t.string });
    for (const name of names) {
      const found = decode(t.array(Label), await api('GET', `${base}/labels?limit=50`), 'labels').find(
        (label) => label.name === name,
      );
      const label =
        found ?? decode(Label, await api('POST', `${base}/labels`, { name, color: '#ededed' }), 'label');
      ids.push(label.id);
    }
    return ids;
  }

  const options = {
    name: 'remote',
    base_url: url,
    clone_base_url: null,
    account: null,
    timeout_ms: 60_000,
    retry_ms: 100,
    throttle: false,
  };
  return {
    forge: new GiteaForge({ ...options, token_file: tokenFile }),
    async withScopes(scopes) {
      const other = join(folder, 'other-token');
      writeFileSync(other, await newToken(scopes), { mode: 0o600 });
      return new GiteaForge({ ...options, token_file: other });
    },
    ref,
    async addBranch(branch, files) {
      const commit = addBranch(bare, branch, files);
      push(branch);
      return commit;
    },
    async deleteBranch(branch) {
      push(`:${branch}`);
    },
    async issue({ title, body, author, locked = false, closed = false, labels = [] }) {
      const made = await api('POST', `${base}/issues`, { title, body }, author);
      const { number } = decode(Numbered, made, 'issue');
      if (labels.length > 0)
        await api('POST', `${base}/issues/${number}/labels`, { labels: await labelIds(labels) });
      if (closed) await api('PATCH', `${base}/issues/${number}`, { state: 'closed' });
      if (locked) await api('PUT', `${base}/issues/${number}/lock`, { lock_reason: '' });
      return number;
    },
    async comment(number, { body, author }) {
      await api('POST', `${base}/issues/${number}/comments`, { body }, author);
    },
    async reopen(number) {
      for (const state of ['closed', 'open']) await api('PATCH', `${base}/issues/${number}`, { state });
    },
    async merge(number) {
      // Whether it can be merged is looked at in the background.
      await until('the merge', async () => {
        const { status } = await attempt('POST', `${base}/pulls/${number}/merge`, { Do: 'merge' }, ref.owner);
        return status === 200;
      });
    },
    async protect(glob) {
      await api('POST', `${base}/branch_protections`, { rule_name: glob, enable_push: false });
    },
    async rule(rule_name, { checks, approvals, signed, files }) {
      await api('POST', `${base}/branch_protections`, {
        ...{ rule_name, enable_push: true },
        ...{ enable_status_check: true, status_check_contexts: checks, required_approvals: approvals },
        ...{ require_signed_commits: signed, protected_file_patterns: files },
      });
    },
    async check({ commit, name, state }) {
      if (/^0+$/.test(commit)) return;
      await api('POST', `${base}/statuses/${commit}`, { context: name, state }, account);
    },
    async archive(archived) {
      await api('PATCH', base, { archived });
    },
    async rename(from, to) {
      await api('PATCH', `/repos/${ref.owner}/${from}`, { name: to });
    },
    async make(repo) {
      await api('POST', `/admin/users/${ref.owner}/repos`, { name: repo, default_branch: 'main' });
      await api('PUT', `/repos/${ref.owner}/${repo}/collaborators/${account}`, { permission: 'admin' });
    },
    async remove(repo) {
      await api('DELETE', `/repos/${ref.owner}/${repo}`);
    },
    async letWrite(allowed) {
      await api('PUT', `${base}/collaborators/${account}`, { permission: allowed ? 'admin' : 'read' });
    },
    lockHolds: false,
    violations: () => [],
    async close() {
      await attempt('DELETE', base);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
