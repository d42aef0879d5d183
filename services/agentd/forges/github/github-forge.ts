import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { type CoreError, NotFound, Refused, Unauthorized } from '#kit/errors.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import type {
  Access,
  Account,
  Author,
  ChangedIssue,
  ChangeFilter,
  Comment,
  Issue,
  IssueFilter,
  Protection,
  PullRequest,
  PullRequestOutcome,
  Repository,
  RepositoryRef,
} from '../../planning/forge.ts';
import { accessUnknown, accountMayNot, archived, mayNotPush, mayPublish, withoutToken } from '../access.ts';
import { shortenedBody, wholeBody } from '../bodies.ts';
import { type Check, checksTogether } from '../checks.ts';
import { checkedCloneUrl, cloneOrigins, pageUrl } from '../clone-url.ts';
import type { ConfiguredForge, ForgeFacts, RemoteForgeOptions } from '../configured-forge.ts';
import { clockAhead } from '../examine.ts';
import { hasLabel, labelQuery } from '../labels.ts';
import { checkBranch, checkCommentId, checkNumber, checkRepositoryRef, nameOf } from '../names.ts';
import {
  noComment,
  noIssue,
  noPullRequest,
  noRepository,
  pullRequestInstead,
  pullRequestMerged,
} from '../not-there.ts';
import { OwnAccount } from '../own-account.ts';
import { pagesOf } from '../pages.ts';
import { mayWrite, notKnown, outsider, type Standing, Standings } from '../standings.ts';
import { forgeTime, since, wholeSecond } from '../times.ts';
import { TokenFile } from '../token-file.ts';
import { GitHubClient, type GitHubReply } from './github-client.ts';
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

/** Rules of a ruleset that keep us from pushing to a branch; the others say what a commit must be like. */
const closingRules = new Set(['creation', 'update', 'pull_request', 'merge_queue', 'required_status_checks']);

/** GitHub and GitHub Enterprise by their REST API. */
export class GitHubForge implements ConfiguredForge {
  readonly kind = 'github';
  readonly deadline_ms: number;
  readonly name: string;
  readonly url: string;
  readonly #options: RemoteForgeOptions;
  readonly #token: TokenFile;
  readonly #client: GitHubClient;
  readonly #account: OwnAccount;
  readonly #standings = new Standings();

  constructor(options: RemoteForgeOptions) {
    this.name = options.name;
    this.url = options.base_url;
    this.deadline_ms = options.timeout_ms;
    this.#options = options;
    this.#token = new TokenFile(options.token_file);
    this.#client = new GitHubClient(options, this.#token);
    this.#account = new OwnAccount(this.#token, options, (signal) => this.#askAccount(signal));
  }

  missing(): string | null {
    if (this.#token.path === null || this.#token.exists()) return null;
    return `token file ${this.#token.path}`;
  }

  async repository(ref: RepositoryRef, signal?: AbortSignal): Promise<Repository> {
    checkRepositoryRef(ref);
    const what = `repository ${nameOf(ref)}`;
    const reply = await this.#client
      .request('GET /repos/{owner}/{repo}', path(ref), what, signal)
      .catch((error: unknown) => {
        throw error instanceof NotFound ? noRepository(this.name, ref, error) : error;
      });
    const found = this.#decode(RepositoryReply, reply.data, what);
    const url = checkedCloneUrl(found.clone_url, this.#options);
    return {
      owner: found.owner.login,
      repo: found.name,
      default_branch: found.default_branch,
      clone_url: url,
      push_url: url,
      html_url: pageUrl(found.html_url),
      archived: found.archived,
      access: await this.#access(found, reply.headers['x-oauth-scopes']),
      forge_time: forgeTime(reply.headers.date),
    };
  }

  /** Of the account; of a classic token also its scopes, which only those carry. What others may do GitHub does not tell. */
  async #access(found: RepositoryReply, scopes: string | number | undefined): Promise<Access> {
    const { path } = this.#token;
    const token = await this.#token.read();
    if (found.archived) return archived;
    if (token === null) return withoutToken(this.name, path);
    if (found.permissions === undefined) return accessUnknown('GitHub did not say what the token may do');
    if (!found.permissions.push) {
      const app = this.#options.account !== null || token.startsWith('ghs_');
      return app
        ? accessUnknown('GitHub does not tell the token of an app what it may do')
        : accountMayNot(path);
    }
    if (scopes === undefined) return mayPublish;
    const held = String(scopes)
      .split(',')
      .map((scope) => scope.trim());
    if (held.includes('repo') || (!found.private && held.includes('public_repo'))) return mayPublish;
    return mayNotPush(`the token in ${path} lacks the scope repo`);
  }

  async issue(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<Issue> {
    checkRepositoryRef(ref);
    checkNumber(number);
    const what = `issue ${nameOf(ref, number)}`;
    const reply = await this.#client
      .request(
        'GET /repos/{owner}/{repo}/issues/{issue_number}',
        { ...path(ref), issue_number: number },
        what,
        signal,
      )
      .catch((error: unknown) =>
        this.#explain(error, ref, () => noIssue(this.name, ref, number, error), signal),
      );
    const found = this.#decode(IssueReply, reply.data, what);
    await this.#refuseTransferred(ref, number, found, signal);
    if (found.pull_request !== undefined && found.pull_request !== null)
      throw pullRequestInstead(ref, number);
    const issue = await this.#signed(ref, issueOf(found), signal);
    return { ...issue, body: wholeBody(issue.body, nameOf(ref, number)) };
  }

  async comments(
    ref: RepositoryRef,
    number: number,
    options: { since?: string } = {},
    signal?: AbortSignal,
  ): Promise<Comment[]> {
    checkRepositoryRef(ref);
    checkNumber(number);
    const what = `comments of ${nameOf(ref, number)}`;
    const from = options.since === undefined ? {} : { since: wholeSecond(options.since) };
    const replies = await this.#client
      .list(
        'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
        { ...path(ref), issue_number: number, ...from },
        what,
        signal,
      )
      .catch((error: unknown) =>
        this.#explain(error, ref, () => noIssue(this.name, ref, number, error), signal),
      );
    const comments = this.#decode(t.array(CommentReply), replies, what).map(commentOf);
    const signed: Comment[] = [];
    for (const comment of comments.filter(since(options.since)))
      signed.push(await this.#signed(ref, comment, signal));
    return signed;
  }

  async listIssues(ref: RepositoryRef, options: IssueFilter, signal?: AbortSignal): Promise<Issue[]> {
    checkRepositoryRef(ref);
    const what = `issues of ${nameOf(ref)}`;
    const found: Issue[] = [];
    // GitHub lists pull requests among the issues, so that a page may hold fewer than it says.
    for (const page of pagesOf(this.name, what)) {
      const parameters = {
        ...path(ref),
        state: options.state,
        ...labelQuery(options),
        sort: options.sort ?? 'created',
        direction: 'desc',
        per_page: 100,
        page,
      };
      const reply = await this.#client
        .request('GET /repos/{owner}/{repo}/issues', parameters, what, signal)
        .catch((error: unknown) =>
          this.#explain(error, ref, () => noRepository(this.name, ref, error), signal),
        );
      const replies = this.#decode(t.array(IssueReply), reply.data, what);
      for (const entry of replies) {
        if (entry.pull_request !== undefined && entry.pull_request !== null) continue;
        const issue = issueOf(entry);
        if (hasLabel(issue, options)) found.push(await this.#signed(ref, issue, signal));
      }
      if (replies.length < 100 || found.length >= options.limit) break;
    }
    return found.slice(0, options.limit).map((issue) => ({ ...issue, body: shortenedBody(issue.body) }));
  }

  async changedIssues(
    ref: RepositoryRef,
    { since, limit }: ChangeFilter,
    signal?: AbortSignal,
  ): Promise<ChangedIssue[]> {
    checkRepositoryRef(ref);
    const what = `changed issues of ${nameOf(ref)}`;
    const from = wholeSecond(since);
    const parameters = { ...path(ref), state: 'all', since: from, sort: 'updated', direction: 'asc' };
    const changed: ChangedIssue[] = [];
    for (const page of pagesOf(this.name, what)) {
      const reply = await this.#client
        .request('GET /repos/{owner}/{repo}/issues', { ...parameters, per_page: 100, page }, what, signal)
        .catch((error: unknown) =>
          this.#explain(error, ref, () => noRepository(this.name, ref, error), signal),
        );
      const replies = this.#decode(t.array(IssueReply), reply.data, what);
      for (const entry of replies) {
        if (entry.pull_request !== undefined && entry.pull_request !== null) continue;
        const { locked, author, ...issue } = issueOf(entry);
        // An Enterprise server that does not give the reason is asked for what happened.
        const { state_reason } = entry;
        const reopened =
          issue.state === 'open' && (state_reason === undefined || state_reason === 'reopened');
        const reopened_at = reopened ? await this.#reopenedAt(ref, entry.number, from, signal) : null;
        changed.push({ ...issue, author: author.login, reopened_at });
      }
      if (replies.length < 100 || changed.length >= limit) break;
    }
    return changed.slice(0, limit);
  }

  async #reopenedAt(
    ref: RepositoryRef,
    number: number,
    since: string,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const what = `what happened to ${nameOf(ref, number)}`;
    const route = 'GET /repos/{owner}/{repo}/issues/{issue_number}/events';
    const replies = await this.#client.list(route, { ...path(ref), issue_number: number }, what, signal);
    const times = this.#decode(t.array(IssueEventReply), replies, what)
      .filter(({ event, created_at }) => event === 'reopened' && Date.parse(created_at) >= Date.parse(since))
      .map(({ created_at }) => created_at);
    return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
  }

  async protection(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<Protection> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    if (branch === repository.default_branch) return { protected: true, reason: 'default branch' };
    const what = `branch ${branch} of ${nameOf(repository)}`;
    const parameters = { ...path(repository), branch };
    const existing = await this.#orAbsent(
      'GET /repos/{owner}/{repo}/branches/{branch}',
      parameters,
      what,
      signal,
    );
    if (existing !== null && this.#decode(BranchReply, existing, what).protected) {
      return { protected: true, reason: `protected on ${this.name}` };
    }
    // Rules also hold for branches that do not exist yet. Older Enterprise servers have none.
    const rules = await this.#orAbsent(
      'GET /repos/{owner}/{repo}/rules/branches/{branch}',
      parameters,
      what,
      signal,
    );
    const closing = this.#decode(RulesReply, rules ?? [], what).filter(({ type }) => closingRules.has(type));
    return closing.length === 0
      ? { protected: false, reason: '' }
      : { protected: true, reason: `rule ${closing.map(({ type }) => type).join(', ')} on ${this.name}` };
  }

  async findPullRequests(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<PullRequest[]> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    const what = `pull requests of ${nameOf(repository)}`;
    const head = `${repository.owner}:${branch}`;
    const replies = await this.#client.list(
      'GET /repos/{owner}/{repo}/pulls',
      { ...path(repository), state: 'all', head },
      what,
      signal,
    );
    const fullName = nameOf(repository).toLowerCase();
    return this.#decode(t.array(PullRequestReply), replies, what)
      .filter(
        ({ head: { ref: name, repo } }) =>
          name === branch && (repo?.full_name.toLowerCase() ?? fullName) === fullName,
      )
      .map(pullRequestOf);
  }

  async pullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<PullRequestOutcome> {
    checkNumber(number);
    const repository = await this.repository(ref, signal);
    const what = `pull request ${nameOf(repository, number)}`;
    const parameters = { ...path(repository), pull_number: number };
    const reply = await this.#client
      .request('GET /repos/{owner}/{repo}/pulls/{pull_number}', parameters, what, signal)
      .catch((error: unknown) => {
        throw error instanceof NotFound ? noPullRequest(this.name, repository, number, error) : error;
      });
    const found = this.#decode(PullRequestReply, reply.data, what);
    const checks = await this.#checks(repository, found.head.sha, signal);
    return {
      ...pullRequestOf(found),
      ended_at: found.merged_at ?? found.closed_at ?? null,
      ...checksTogether(checks),
    };
  }

  /** Checks and statuses are two kinds of one thing. A token without the right to see them sees none. */
  async #checks(repository: Repository, commit: string, signal: AbortSignal | undefined): Promise<Check[]> {
    const what = `checks of ${commit.slice(0, 12)} in ${nameOf(repository)}`;
    const base = 'GET /repos/{owner}/{repo}/commits/{ref}';
    const parameters = { ...path(repository), ref: commit, per_page: 100 };
    const runs: t.TypeOf<typeof CheckRunsReply>['check_runs'] = [];
    for (let page = 1; ; page++) {
      const data = await this.#orHidden(`${base}/check-runs`, { ...parameters, page }, what, signal);
      if (data === null) break;
      const { total_count, check_runs } = this.#decode(CheckRunsReply, data, what);
      runs.push(...check_runs);
      if (check_runs.length === 0 || runs.length >= total_count) break;
    }
    const statuses = await this.#orHidden(`${base}/status`, parameters, what, signal);
    return checksOf(runs, this.#decode(CombinedStatusReply, statuses ?? { statuses: [] }, what));
  }

  async #orHidden(
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    what: string,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    try {
      return await this.#orAbsent(route, parameters, what, signal);
    } catch (error) {
      if (error instanceof Unauthorized && error.facts.status === 403) return null;
      throw error;
    }
  }

  self(signal?: AbortSignal): Promise<Account> {
    return this.#account.get(signal);
  }

  /** The token of an app may not ask who it is: then `account` says it. */
  #askUser(signal?: AbortSignal): Promise<GitHubReply> {
    const { account } = this.#options;
    const what = 'our own account';
    return this.#client.request('GET /user', {}, what, signal).catch((error: unknown) => {
      if (account === null || !(error instanceof Unauthorized) || error.facts.status !== 403) throw error;
      return this.#client.request('GET /users/{username}', { username: account }, what, signal);
    });
  }

  async #askAccount(signal?: AbortSignal): Promise<Account> {
    const reply = await this.#askUser(signal);
    const { login, id } = this.#decode(AccountReply, reply.data, 'our own account');
    return { login, id: String(id) };
  }

  /** Only classic tokens say their scopes. That of an app may not ask who it is: its account is looked up. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const reply = await this.#askUser(AbortSignal.timeout(answerMs));
    const { login } = this.#decode(AccountReply, reply.data, 'our own account');
    this.#account.check({ login });
    const told = reply.headers['x-oauth-scopes'];
    const scopes = told === undefined || told === '' ? null : String(told).split(/,\s*/);
    const needed_by =
      'plan-issue in private repositories and execute-approved, which pushes and opens pull requests';
    const enough = scopes === null || scopes.includes('repo') || scopes.includes('public_repo');
    return {
      account: login,
      scopes,
      lacking: enough ? [] : [{ scope: 'repo', needed_by }],
      unanswered: [],
      clock_ahead_s: clockAhead(reply.headers.date, sent, Date.now()),
    };
  }

  async gitCredential(): Promise<GitCredential | null> {
    const password = await this.#token.read();
    if (password === null) return null;
    return {
      username: 'x-access-token',
      password,
      origins: cloneOrigins(this.#options),
      source: `the token in ${this.#token.path}`,
    };
  }

  async openPullRequest(
    ref: RepositoryRef,
    request: { title: string; body: string; head: string; base: string },
    signal?: AbortSignal,
  ): Promise<PullRequest> {
    checkBranch(request.head);
    checkBranch(request.base);
    const repository = await this.#forWriting(ref, signal);
    const what = `a pull request from ${request.head} into ${request.base} in ${nameOf(repository)}`;
    const { title, body, head, base } = request;
    const reply = await this.#client
      .request(
        'POST /repos/{owner}/{repo}/pulls',
        { ...path(repository), title, body, head, base },
        what,
        signal,
      )
      .catch((error: unknown) => {
        throw error instanceof NotFound ? noRepository(this.name, ref, error) : error;
      });
    return pullRequestOf(this.#decode(PullRequestReply, reply.data, what));
  }

  async closePullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const what = `pull request ${nameOf(repository, number)}`;
    const parameters = { ...path(repository), pull_number: number };
    const absent = (error: unknown): never => {
      throw error instanceof NotFound ? noPullRequest(this.name, repository, number, error) : error;
    };
    const reply = await this.#client
      .request('GET /repos/{owner}/{repo}/pulls/{pull_number}', parameters, what, signal)
      .catch(absent);
    const { state } = pullRequestOf(this.#decode(PullRequestReply, reply.data, what));
    if (state === 'closed') return;
    if (state === 'merged') throw pullRequestMerged(repository, number);
    await this.#client
      .request(
        'PATCH /repos/{owner}/{repo}/pulls/{pull_number}',
        { ...parameters, state: 'closed' },
        what,
        signal,
      )
      .catch(absent);
  }

  async comment(ref: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<Comment> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const what = `a comment on ${nameOf(repository, number)}`;
    const reply = await this.#client
      .request(
        'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
        { ...path(repository), issue_number: number, body },
        what,
        signal,
      )
      .catch((error: unknown) => {
        throw error instanceof NotFound ? noIssue(this.name, repository, number, error) : error;
      });
    return commentOf(this.#decode(CommentReply, reply.data, what));
  }

  async deleteComment(ref: RepositoryRef, number: number, id: string, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    checkCommentId(id);
    const repository = await this.#forWriting(ref, signal);
    await this.#client
      .request(
        'DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}',
        { ...path(repository), comment_id: Number(id) },
        `comment ${id} in ${nameOf(repository)}`,
        signal,
      )
      .catch((error: unknown) => {
        throw error instanceof NotFound ? noComment(this.name, repository, number, id, error) : error;
      });
  }

  /** A write goes to the canonical name: only reads follow the redirect of a renamed repository. */
  async #forWriting(ref: RepositoryRef, signal: AbortSignal | undefined): Promise<Repository> {
    await this.#token.need(this.name);
    return this.repository(ref, signal);
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
      const { data } = await this.#client.request(route, { ...path(ref), username: login }, what, signal);
      return mayWrite(this.#decode(PermissionReply, data, what).permission) ? { association } : outsider;
    } catch (error) {
      if (!(error instanceof Unauthorized) && !(error instanceof NotFound)) throw error;
      return notKnown(`${what} could not be learned: ${error.message}`);
    }
  }

  /** A 404 does not say whether the issue or the whole repository is not there. */
  async #explain(
    error: unknown,
    ref: RepositoryRef,
    absent: () => CoreError,
    signal?: AbortSignal,
  ): Promise<never> {
    const gone = error instanceof Refused && error.facts.status === 410;
    if (!(error instanceof NotFound) && !gone) throw error;
    await this.repository(ref, signal);
    throw absent();
  }

  /** GitHub redirects a transferred issue to another repository, which nobody asked about. */
  async #refuseTransferred(
    ref: RepositoryRef,
    number: number,
    found: t.TypeOf<typeof IssueReply>,
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

  async #orAbsent(
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    what: string,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    try {
      return (await this.#client.request(route, parameters, what, signal)).data;
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  }

  #decode<A>(codec: t.Decoder<unknown, A>, data: unknown, what: string): A {
    return decode(codec, data, `answer of forge '${this.name}' about ${what}`, 'forge_reply_invalid');
  }
}

function path({ owner, repo }: RepositoryRef): { owner: string; repo: string } {
  return { owner, repo };
}
