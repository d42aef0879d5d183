import * as t from 'io-ts';
import { oneOf, optional } from '#kit/decode.ts';
import { NotFound, Refused, Unauthorized } from '#kit/errors.ts';
import type {
  Access,
  Account,
  Author,
  Comment,
  Issue,
  IssueFilter,
  PullRequest,
  Repository,
  RepositoryRef,
} from '../../ports/forge.ts';
import { accessUnknown, accountMayNot, mayNotPush, mayPublish } from '../access.ts';
import type { Check } from '../checks.ts';
import type { Call, ForgeFacts } from '../configured-forge.ts';
import { clockAhead } from '../examine.ts';
import { labelQuery } from '../labels.ts';
import { nameOf } from '../names.ts';
import { noRepository, orAbsent } from '../not-there.ts';
import { pagesOf } from '../pages.ts';
import {
  type FoundChange,
  type FoundPull,
  type FoundRepository,
  type Listed,
  type NewPull,
  RemoteForge,
} from '../remote-forge.ts';
import { type ForgeAdapter, remoteOptions, remoteSettings } from '../settings.ts';
import { mayWrite, notKnown, outsider, type Standing, Standings } from '../standings.ts';
import { GitHubClient, type GitHubOptions, type GitHubReply } from './github-client.ts';
import {
  AccountReply,
  BranchReply,
  CheckRunsReply,
  CombinedStatusReply,
  CommentReply,
  checksOf,
  commentOf,
  IssueEventReply,
  IssueReply,
  issueOf,
  PermissionReply,
  PullRequestReply,
  pullRequestOf,
  RepositoryReply,
  RulesReply,
} from './github-replies.ts';

const GitHubSettings = t.strict({
  ...remoteSettings,
  kind: oneOf(['github']),
  /** false only for an Enterprise server without rate limits. Default true. */
  throttle: optional(t.boolean),
});

export const github: ForgeAdapter<typeof GitHubSettings> = {
  settings: GitHubSettings,
  create: (settings, parts) =>
    new GitHubForge({
      ...remoteOptions('github', settings, parts),
      throttle: settings.throttle !== false,
    }),
};

/** Rules of a ruleset that keep us from pushing to a branch; the others say what a commit must be like. */
const closingRules = new Set(['creation', 'update', 'pull_request', 'merge_queue', 'required_status_checks']);

/** GitHub and GitHub Enterprise by their REST API. */
export class GitHubForge extends RemoteForge {
  readonly kind = 'github';
  protected readonly gitUser = 'x-access-token';
  readonly #client: GitHubClient;
  readonly #standings = new Standings();

  constructor(options: GitHubOptions) {
    super(options);
    this.#client = new GitHubClient(options, this.token);
  }

  protected async askRepository(ref: RepositoryRef, call: Call): Promise<FoundRepository> {
    const { data, headers } = await this.#client.request('GET /repos/{owner}/{repo}', path(ref), call);
    const reply = this.decode(RepositoryReply, data, call.what);
    const access = (token: string) => this.#access(reply, token, headers['x-oauth-scopes']);
    return { reply, date: headers.date, access };
  }

  /** Of the account; of a classic token also its scopes, which only those carry. What others may do GitHub does not tell. */
  #access(found: RepositoryReply, token: string, scopes: string | number | undefined): Access {
    if (found.permissions === undefined) return accessUnknown('GitHub did not say what the token may do');
    if (!found.permissions.push) {
      const app = this.options.account !== null || token.startsWith('ghs_');
      return app
        ? accessUnknown('GitHub does not tell the token of an app what it may do')
        : accountMayNot(this.token.path);
    }
    if (scopes === undefined) return mayPublish;
    const held = String(scopes)
      .split(',')
      .map((scope) => scope.trim());
    if (held.includes('repo') || (!found.private && held.includes('public_repo'))) return mayPublish;
    return mayNotPush(`the token in ${this.token.path} lacks the scope repo`);
  }

  protected async askIssue(ref: RepositoryRef, number: number, call: Call): Promise<Issue | null> {
    const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}';
    const parameters = { ...path(ref), issue_number: number };
    const { data } = await this.#client
      .request(route, parameters, call)
      .catch(this.ifNoIssue(ref, number, call.signal));
    const found = this.decode(IssueReply, data, call.what);
    await this.#refuseTransferred(ref, number, found, call.signal);
    return isPull(found) ? null : this.#signed(ref, issueOf(found), call.signal);
  }

  protected async askComments(
    ref: RepositoryRef,
    number: number,
    from: string | null,
    call: Call,
  ): Promise<Listed<Comment>[]> {
    const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const parameters = { ...path(ref), issue_number: number, ...(from === null ? {} : { since: from }) };
    const replies = await this.#client
      .list(route, parameters, call)
      .catch(this.ifNoIssue(ref, number, call.signal));
    return this.decode(t.array(CommentReply), replies, call.what)
      .map(commentOf)
      .map((comment) => ({
        created_at: comment.created_at,
        labels: [],
        read: () => this.#signed(ref, comment, call.signal),
      }));
  }

  protected async *askIssues(
    ref: RepositoryRef,
    filter: IssueFilter,
    call: Call,
  ): AsyncGenerator<Listed<Issue>> {
    const { state, sort = 'created' } = filter;
    const parameters = { ...path(ref), state, ...labelQuery(filter), sort, direction: 'desc' };
    for await (const reply of this.#issues(ref, parameters, call)) {
      const issue = issueOf(reply);
      const { created_at, labels } = issue;
      yield { created_at, labels, read: () => this.#signed(ref, issue, call.signal) };
    }
  }

  protected async *askChanges(ref: RepositoryRef, from: string, call: Call): AsyncGenerator<FoundChange> {
    const parameters = { ...path(ref), state: 'all', since: from, sort: 'updated', direction: 'asc' };
    for await (const reply of this.#issues(ref, parameters, call)) {
      const { locked, author, ...issue } = issueOf(reply);
      const { state_reason: reason } = reply;
      // An Enterprise server that does not give the reason is asked for what happened.
      const maybe_reopened = reason === undefined || reason === 'reopened';
      yield { issue: { ...issue, author: author.login }, maybe_reopened };
    }
  }

  /** GitHub lists pull requests among the issues, so that a page may hold fewer than it says. */
  async *#issues(
    ref: RepositoryRef,
    parameters: Readonly<Record<string, unknown>>,
    call: Call,
  ): AsyncGenerator<IssueReply> {
    for (const page of pagesOf(this.name, call.what)) {
      const { data } = await this.#client
        .request('GET /repos/{owner}/{repo}/issues', { ...parameters, per_page: 100, page }, call)
        .catch(this.ifNoRepository(ref, call.signal));
      const replies = this.decode(t.array(IssueReply), data, call.what);
      yield* replies.filter((reply) => !isPull(reply));
      if (replies.length < 100) return;
    }
  }

  protected async askReopened(
    ref: RepositoryRef,
    number: number,
    from: string,
    call: Call,
  ): Promise<string | null> {
    const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}/events';
    const replies = await this.#client.list(route, { ...path(ref), issue_number: number }, call);
    const times = this.decode(t.array(IssueEventReply), replies, call.what)
      .filter(({ event, created_at }) => event === 'reopened' && Date.parse(created_at) >= Date.parse(from))
      .map(({ created_at }) => created_at);
    return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
  }

  protected async askProtection(repository: Repository, branch: string, call: Call): Promise<string | null> {
    const ask = (route: string) =>
      this.unlessAbsent(this.#client.request(route, { ...path(repository), branch }, call));
    const existing = await ask('GET /repos/{owner}/{repo}/branches/{branch}');
    if (existing !== null && this.decode(BranchReply, existing, call.what).protected)
      return `protected on ${this.name}`;
    // Rules also hold for branches that do not exist yet. Older Enterprise servers have none.
    const rules = await ask('GET /repos/{owner}/{repo}/rules/branches/{branch}');
    const closing = this.decode(RulesReply, rules ?? [], call.what).filter(({ type }) =>
      closingRules.has(type),
    );
    if (closing.length === 0) return null;
    return `rule ${closing.map(({ type }) => type).join(', ')} on ${this.name}`;
  }

  protected async askPulls(repository: Repository, branch: string, call: Call): Promise<PullRequest[]> {
    const parameters = { ...path(repository), state: 'all', head: `${repository.owner}:${branch}` };
    const replies = await this.#client.list('GET /repos/{owner}/{repo}/pulls', parameters, call);
    const fullName = nameOf(repository).toLowerCase();
    return this.decode(t.array(PullRequestReply), replies, call.what)
      .filter(
        ({ head: { ref: name, repo } }) =>
          name === branch && (repo?.full_name.toLowerCase() ?? fullName) === fullName,
      )
      .map(pullRequestOf);
  }

  protected async askPull(repository: Repository, number: number, call: Call): Promise<FoundPull> {
    const parameters = { ...path(repository), pull_number: number };
    const route = 'GET /repos/{owner}/{repo}/pulls/{pull_number}';
    const { data } = await this.#client.request(route, parameters, call);
    const found = this.decode(PullRequestReply, data, call.what);
    const pull = pullRequestOf(found);
    const ended_at = found.merged_at ?? found.closed_at ?? null;
    return { state: pull.state, ended_at, read: async () => pull };
  }

  /** Checks and statuses are two kinds of one thing. A token without the right to see them sees none. */
  protected async askChecks(repository: Repository, commit: string, call: Call): Promise<Check[]> {
    const base = 'GET /repos/{owner}/{repo}/commits/{ref}';
    const ask = (kind: string, page = 1) => {
      const parameters = { ...path(repository), ref: commit, per_page: 100, page };
      return this.unlessHidden(this.#client.request(`${base}/${kind}`, parameters, call));
    };
    const runs: t.TypeOf<typeof CheckRunsReply>['check_runs'] = [];
    for (let page = 1; ; page++) {
      const data = await ask('check-runs', page);
      if (data === null) break;
      const { total_count, check_runs } = this.decode(CheckRunsReply, data, call.what);
      runs.push(...check_runs);
      if (check_runs.length === 0 || runs.length >= total_count) break;
    }
    const statuses = await ask('status');
    return checksOf(runs, this.decode(CombinedStatusReply, statuses ?? { statuses: [] }, call.what));
  }

  protected async askAccount(signal?: AbortSignal): Promise<Account> {
    const { data } = await this.#askUser(signal);
    const { login, id } = this.decode(AccountReply, data, 'our own account');
    return { login, id: String(id) };
  }

  /** The token of an app may not ask who it is: then `account` says it. */
  #askUser(signal?: AbortSignal): Promise<GitHubReply> {
    const { account } = this.options;
    const what = 'our own account';
    return this.#client.request('GET /user', {}, { what, signal }).catch((error: unknown) => {
      if (account === null || !(error instanceof Unauthorized) || error.facts.status !== 403) throw error;
      return this.#client.request('GET /users/{username}', { username: account }, { what, signal });
    });
  }

  /** Only classic tokens say their scopes. That of an app may not ask who it is: its account is looked up. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const { data, headers } = await this.#askUser(AbortSignal.timeout(answerMs));
    const { login } = this.decode(AccountReply, data, 'our own account');
    this.account.check({ login });
    const given = headers['x-oauth-scopes'];
    const scopes = given === undefined || given === '' ? null : String(given).split(/,\s*/);
    const needed_by =
      'plan-issue in private repositories and execute-approved, which pushes and opens pull requests';
    const enough = scopes === null || scopes.includes('repo') || scopes.includes('public_repo');
    return {
      account: login,
      scopes,
      lacking: enough ? [] : [{ scope: 'repo', needed_by }],
      unanswered: [],
      clock_ahead_s: clockAhead(headers.date, sent, Date.now()),
    };
  }

  protected async writePull(
    repository: Repository,
    { title, body, head, base }: NewPull,
    call: Call,
  ): Promise<PullRequest> {
    const parameters = { ...path(repository), title, body, head, base };
    const { data } = await orAbsent(
      this.#client.request('POST /repos/{owner}/{repo}/pulls', parameters, call),
      (cause) => noRepository(this.name, repository, cause),
    );
    return pullRequestOf(this.decode(PullRequestReply, data, call.what));
  }

  protected async writeClosed(repository: Repository, number: number, call: Call): Promise<void> {
    const parameters = { ...path(repository), pull_number: number, state: 'closed' };
    await this.#client.request('PATCH /repos/{owner}/{repo}/pulls/{pull_number}', parameters, call);
  }

  protected async writeComment(
    repository: Repository,
    number: number,
    body: string,
    call: Call,
  ): Promise<Comment> {
    const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments';
    const parameters = { ...path(repository), issue_number: number, body };
    const { data } = await this.#client.request(route, parameters, call);
    return commentOf(this.decode(CommentReply, data, call.what));
  }

  protected async removeComment(repository: Repository, id: string, call: Call): Promise<void> {
    const route = 'DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}';
    await this.#client.request(route, { ...path(repository), comment_id: Number(id) }, call);
  }

  /** GitHub says who was invited, and members of the organisation, but not whether they may write: that is asked. */
  async #signed<A extends { readonly author: Author }>(
    ref: RepositoryRef,
    text: A,
    signal: AbortSignal | undefined,
  ): Promise<A> {
    const { author } = text;
    if (author.association !== 'member' && author.association !== 'collaborator') return text;
    const standing = await this.#standings.of(ref, author.login, () => this.#standing(ref, author, signal));
    return { ...text, author: { ...author, ...standing } };
  }

  async #standing(
    ref: RepositoryRef,
    { login, association }: Author,
    signal: AbortSignal | undefined,
  ): Promise<Standing> {
    const what = `the permission of ${login} in ${nameOf(ref)}`;
    const route = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission';
    try {
      const { data } = await this.#client.request(route, { ...path(ref), username: login }, { what, signal });
      return mayWrite(this.decode(PermissionReply, data, what).permission) ? { association } : outsider;
    } catch (error) {
      if (!(error instanceof Unauthorized) && !(error instanceof NotFound)) throw error;
      return notKnown(`${what} could not be learned: ${error.message}`);
    }
  }

  /** 410 is what GitHub answers for a deleted issue. */
  protected override isGone(error: unknown): boolean {
    return super.isGone(error) || (error instanceof Refused && error.facts.status === 410);
  }

  /** GitHub redirects a transferred issue to another repository, which nobody asked about. */
  async #refuseTransferred(
    ref: RepositoryRef,
    number: number,
    found: IssueReply,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const home = found.repository_url.split('/').slice(-2).join('/').toLowerCase();
    if (found.number === number && home === nameOf(ref).toLowerCase()) return;
    const canonical = await this.repository(ref, signal);
    if (found.number === number && home === nameOf(canonical).toLowerCase()) return;
    throw new NotFound(
      'issue_not_found',
      `issue ${nameOf(ref, number)} was moved to ${found.html_url} on forge '${this.name}'`,
      { hint: 'plan the issue where it is now' },
    );
  }
}

function path({ owner, repo }: RepositoryRef): { owner: string; repo: string } {
  return { owner, repo };
}

function isPull({ pull_request }: IssueReply): boolean {
  return pull_request !== undefined && pull_request !== null;
}
