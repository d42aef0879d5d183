import { matchesGlob } from 'node:path';
import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { type CoreError, messageOf, NotFound, Unauthorized, Unavailable } from '#kit/errors.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import type {
  Access,
  Account,
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
import { accessUnknown, accountMayNot, archived, mayPublish, withoutToken } from '../access.ts';
import { shortenedBody, wholeBody } from '../bodies.ts';
import { checksTogether, stateOfStatus } from '../checks.ts';
import { checkedCloneUrl, cloneOrigins, pageUrl } from '../clone-url.ts';
import type { ConfiguredForge, ForgeFacts, RemoteForgeOptions } from '../configured-forge.ts';
import { asked, clockAhead, isSilence } from '../examine.ts';
import { hasLabel } from '../labels.ts';
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
import { forgeTime, since, wholeSecond } from '../times.ts';
import { TokenFile } from '../token-file.ts';
import { Associations } from './associations.ts';
import { GiteaClient, orAbsent } from './gitea-client.ts';
import {
  AccountReply,
  BranchReply,
  CombinedStatusReply,
  CommentReply,
  commentOf,
  IssueReply,
  issueOf,
  PermissionReply,
  ProtectionRulesReply,
  PullRequestReply,
  pullRequestOf,
  RepositoryReply,
  reopenedIn,
  TimelineReply,
} from './gitea-replies.ts';
import { lackingIn, lackingOf, scopesIn } from './scopes.ts';

/** So many issues are read, where they are wanted in an order that the list does not have. */
const mostSorted = 1_000;

/** Gitea and Forgejo by their REST API v1. */
export class GiteaForge implements ConfiguredForge {
  readonly kind = 'gitea';
  readonly deadline_ms: number;
  readonly name: string;
  readonly url: string;
  readonly #options: RemoteForgeOptions;
  readonly #token: TokenFile;
  readonly #client: GiteaClient;
  readonly #associations: Associations;
  readonly #account: OwnAccount;

  constructor(options: RemoteForgeOptions) {
    this.name = options.name;
    this.url = options.base_url;
    this.deadline_ms = options.timeout_ms;
    this.#options = options;
    this.#token = new TokenFile(options.token_file);
    this.#client = new GiteaClient(options, this.#token);
    this.#associations = new Associations(
      this.#client,
      (data, what) => this.#decode(PermissionReply, data, what).permission,
    );
    this.#account = new OwnAccount(this.#token, options, (signal) => this.#askAccount(signal));
  }

  missing(): string | null {
    if (this.#token.path === null || this.#token.exists()) return null;
    return `token file ${this.#token.path}`;
  }

  async repository(ref: RepositoryRef, signal?: AbortSignal): Promise<Repository> {
    checkRepositoryRef(ref);
    const what = `repository ${nameOf(ref)}`;
    const reply = await orAbsent(this.#client.get(['repos', ref.owner, ref.repo], what, signal), (cause) =>
      noRepository(this.name, ref, cause),
    );
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
      access: await this.#access(found),
      forge_time: forgeTime(reply.header('date')),
    };
  }

  /** Of the account; Gitea does not tell the scopes of its token. */
  async #access(found: RepositoryReply): Promise<Access> {
    const { path } = this.#token;
    const token = await this.#token.read();
    if (found.archived) return archived;
    if (token === null) return withoutToken(this.name, path);
    if (found.permissions == null) return accessUnknown('Gitea did not say what the account may do');
    if (!found.permissions.push) return accountMayNot(path);
    if (found.has_pull_requests !== false) return mayPublish;
    return { push: true, pull_request: false, reason: 'pull requests are switched off in its settings' };
  }

  async issue(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<Issue> {
    checkRepositoryRef(ref);
    checkNumber(number);
    const what = `issue ${nameOf(ref, number)}`;
    const reply = await this.#client
      .get(['repos', ref.owner, ref.repo, 'issues', String(number)], what, signal)
      .catch((error: unknown) =>
        this.#explain(error, ref, () => noIssue(this.name, ref, number, error), signal),
      );
    const found = this.#decode(IssueReply, reply.data, what);
    if (found.pull_request !== undefined && found.pull_request !== null)
      throw pullRequestInstead(ref, number);
    const issue = issueOf(found, await this.#associations.author(ref, found.user, signal));
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
    const query: Record<string, string> =
      options.since === undefined ? {} : { since: wholeSecond(options.since) };
    // Gitea gives all comments at once, whatever page is asked for.
    const reply = await this.#client
      .get(['repos', ref.owner, ref.repo, 'issues', String(number), 'comments'], what, signal, query)
      .catch((error: unknown) => this.#explainComments(error, ref, number, signal));
    const replies = this.#decode(t.array(CommentReply), reply.data ?? [], what);
    const comments: Comment[] = [];
    for (const entry of replies.filter(since(options.since))) {
      comments.push(commentOf(entry, await this.#associations.author(ref, entry.user, signal)));
    }
    return comments;
  }

  async listIssues(ref: RepositoryRef, options: IssueFilter, signal?: AbortSignal): Promise<Issue[]> {
    checkRepositoryRef(ref);
    const what = `issues of ${nameOf(ref)}`;
    const found: Issue[] = [];
    try {
      for await (const reply of this.#listed(ref, options, what, signal)) {
        if (found.length >= options.limit) break;
        if (!hasLabel({ labels: (reply.labels ?? []).map(({ name }) => name) }, options)) continue;
        found.push(issueOf(reply, await this.#associations.author(ref, reply.user, signal)));
      }
    } catch (error) {
      return this.#explain(error, ref, () => noRepository(this.name, ref, error), signal);
    }
    return found.map((issue) => ({ ...issue, body: shortenedBody(issue.body) }));
  }

  /**
   * Gitea lists by creation alone: for another order the newest thousand are read. It finds labels only as they are
   * written, and of several only issues that have all, so that all issues are asked for and looked at here.
   */
  async *#listed(
    ref: RepositoryRef,
    options: IssueFilter,
    what: string,
    signal?: AbortSignal,
  ): AsyncIterable<IssueReply> {
    const query = { state: options.state, type: 'issues' };
    const path = ['repos', ref.owner, ref.repo, 'issues'];
    const sorted: IssueReply[] = [];
    for await (const entry of this.#client.entries(path, what, query, signal)) {
      const reply = this.#decode(IssueReply, entry, what);
      if (options.sort !== 'updated') yield reply;
      else if (sorted.push(reply) === mostSorted) break;
    }
    yield* sorted.sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
  }

  /** Gitea lists by creation alone, so that all are read before they are sorted. */
  async changedIssues(
    ref: RepositoryRef,
    { since, limit }: ChangeFilter,
    signal?: AbortSignal,
  ): Promise<ChangedIssue[]> {
    checkRepositoryRef(ref);
    const what = `changed issues of ${nameOf(ref)}`;
    const from = wholeSecond(since);
    const path = ['repos', ref.owner, ref.repo, 'issues'];
    const replies: IssueReply[] = [];
    try {
      for await (const entry of this.#client.entries(
        path,
        what,
        { state: 'all', type: 'issues', since: from },
        signal,
      ))
        replies.push(this.#decode(IssueReply, entry, what));
    } catch (error) {
      return this.#explain(error, ref, () => noRepository(this.name, ref, error), signal);
    }
    replies.sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at));
    const changed: ChangedIssue[] = [];
    for (const reply of replies.slice(0, limit)) {
      const { locked, author, ...issue } = issueOf(reply, {
        login: reply.user?.login ?? 'ghost',
        association: 'none',
        bot: false,
      });
      const reopened_at =
        issue.state === 'open' ? await this.#reopenedAt(ref, reply.number, from, signal) : null;
      changed.push({ ...issue, author: author.login, reopened_at });
    }
    return changed;
  }

  async #reopenedAt(
    ref: RepositoryRef,
    number: number,
    since: string,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const what = `what happened to ${nameOf(ref, number)}`;
    const path = ['repos', ref.owner, ref.repo, 'issues', String(number), 'timeline'];
    let last: string | null = null;
    // There is no link to the next page; a page may hold less than it was asked for.
    for (const page of pagesOf(this.name, what)) {
      const { data } = await this.#client.get(path, what, signal, { since, page, limit: 50 });
      const entries = this.#decode(t.array(TimelineReply), data ?? [], what);
      if (entries.length === 0) break;
      last = reopenedIn(entries) ?? last;
    }
    return last;
  }

  async protection(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<Protection> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    if (branch === repository.default_branch) return { protected: true, reason: 'default branch' };
    const what = `branch ${branch} of ${nameOf(repository)}`;
    const base = ['repos', repository.owner, repository.repo];
    const existing = await this.#unlessHidden([...base, 'branches', branch], what, signal);
    if (existing !== null) {
      const found = this.#decode(BranchReply, existing, what);
      const rule = found.effective_branch_protection_name ?? '';
      return found.protected
        ? {
            protected: true,
            reason: rule === '' ? `protected on ${this.name}` : `rule ${rule} on ${this.name}`,
          }
        : { protected: false, reason: '' };
    }
    // Rules are shown to administrators alone; to others, a push to a branch that a rule covers is refused.
    const rules = await this.#unlessHidden(
      [...base, 'branch_protections'],
      `rules of ${nameOf(repository)}`,
      signal,
    );
    const covering = this.#decode(ProtectionRulesReply, rules ?? [], what).find(({ rule_name }) =>
      matchesGlob(branch.toLowerCase(), rule_name.toLowerCase()),
    );
    return covering === undefined
      ? { protected: false, reason: '' }
      : { protected: true, reason: `rule ${covering.rule_name} on ${this.name}` };
  }

  async findPullRequests(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<PullRequest[]> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    const what = `pull requests of ${nameOf(repository)}`;
    const found: PullRequest[] = [];
    const parts = ['repos', repository.owner, repository.repo, 'pulls'];
    for await (const entry of this.#client.entries(parts, what, { state: 'all' }, signal)) {
      const reply = this.#decode(PullRequestReply, entry, what);
      if (reply.head.label !== branch || reply.head.repo_id !== reply.base.repo_id) continue;
      found.push(pullRequestOf(reply, await this.#associations.author(repository, reply.user, signal)));
    }
    return found;
  }

  async pullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<PullRequestOutcome> {
    checkNumber(number);
    const repository = await this.repository(ref, signal);
    const what = `pull request ${nameOf(repository, number)}`;
    const base = ['repos', repository.owner, repository.repo];
    const { data } = await orAbsent(
      this.#client.get([...base, 'pulls', String(number)], what, signal),
      (cause) => noPullRequest(this.name, repository, number, cause),
    );
    const reply = this.#decode(PullRequestReply, data, what);
    const pull = pullRequestOf(reply, await this.#associations.author(repository, reply.user, signal));
    const found =
      pull.head_commit === null
        ? null
        : await this.#unlessHidden([...base, 'commits', pull.head_commit, 'status'], what, signal);
    const { statuses } = this.#decode(CombinedStatusReply, found ?? { statuses: null }, what);
    const checks = (statuses ?? []).map(({ context, status }) => ({
      name: context,
      state: stateOfStatus(status),
    }));
    return { ...pull, ended_at: reply.merged_at ?? reply.closed_at ?? null, ...checksTogether(checks) };
  }

  self(signal?: AbortSignal): Promise<Account> {
    return this.#account.get(signal);
  }

  async #askAccount(signal?: AbortSignal): Promise<Account> {
    const { data } = await this.#client.get(['user'], 'our own account', signal);
    const { login, id } = this.#decode(AccountReply, data, 'our own account');
    return { login, id: String(id) };
  }

  /** Gitea reads the token from the password and ignores the name. */
  /** The scopes come from a refusal: only tokens of administrators may read tasks, others are told what they have. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const ask = (path: string[], what: string) =>
      asked(
        (signal) => this.#client.get(path, what, signal).then((reply) => ({ ...reply, at: Date.now() })),
        answerMs,
      );
    const [user, organizations, tasks] = await Promise.all([
      ask(['user'], 'our own account'),
      ask(['user', 'orgs'], 'our organizations'),
      ask(['admin', 'cron'], 'tasks of administrators'),
    ]);
    const refusals = [user, organizations, tasks].map((one) => ('error' in one ? messageOf(one.error) : ''));
    const scopes = refusals.map(scopesIn).find((found) => found !== null) ?? null;
    const lacking = scopes === null ? refusals.slice(0, 2).flatMap(lackingIn) : lackingOf(scopes);
    if ('error' in user && !lacking.some(({ scope }) => scope === 'read:user')) throw user.error;
    const account = 'error' in user ? null : this.#decode(AccountReply, user.answer.data, 'our own account');
    if (account !== null) this.#account.check(account);
    return {
      account: account?.login ?? null,
      scopes,
      lacking: [...new Set(lacking)],
      unanswered:
        'error' in organizations && isSilence(organizations.error) ? ['which organizations it sees'] : [],
      clock_ahead_s: 'error' in user ? null : clockAhead(user.answer.header('date'), sent, user.answer.at),
    };
  }

  async gitCredential(): Promise<GitCredential | null> {
    const password = await this.#token.read();
    if (password === null) return null;
    return {
      username: 'core',
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
    const { title, body, head, base } = request;
    const what = `a pull request from ${head} into ${base} in ${nameOf(repository)}`;
    const reply = await orAbsent(
      this.#client.write(
        'POST',
        ['repos', repository.owner, repository.repo, 'pulls'],
        what,
        { title, body, head, base },
        signal,
      ),
      // Gitea's 404 also means that one of the branches is not there.
      (cause) =>
        new NotFound(
          'branch_not_found',
          `forge '${this.name}' has no branch ${head} or no branch ${base} in ${nameOf(repository)}`,
          {
            cause,
          },
        ),
    );
    const opened = this.#decode(PullRequestReply, reply.data, what);
    return pullRequestOf(opened, await this.#associations.author(repository, opened.user, signal));
  }

  async closePullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const what = `pull request ${nameOf(repository, number)}`;
    const parts = ['repos', repository.owner, repository.repo, 'pulls', String(number)];
    const absent = (cause: NotFound): NotFound => noPullRequest(this.name, repository, number, cause);
    const { data } = await orAbsent(this.#client.get(parts, what, signal), absent);
    const found = this.#decode(PullRequestReply, data, what);
    if (found.merged) throw pullRequestMerged(repository, number);
    if (found.state !== 'open') return;
    await orAbsent(this.#client.write('PATCH', parts, what, { state: 'closed' }, signal), absent);
  }

  async comment(ref: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<Comment> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const what = `a comment on ${nameOf(repository, number)}`;
    const reply = await orAbsent(
      this.#client.write(
        'POST',
        ['repos', repository.owner, repository.repo, 'issues', String(number), 'comments'],
        what,
        { body },
        signal,
      ),
      (cause) => noIssue(this.name, repository, number, cause),
    );
    const made = this.#decode(CommentReply, reply.data, what);
    return commentOf(made, await this.#associations.author(repository, made.user, signal));
  }

  async deleteComment(ref: RepositoryRef, number: number, id: string, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    checkCommentId(id);
    const repository = await this.#forWriting(ref, signal);
    await orAbsent(
      this.#client.write(
        'DELETE',
        ['repos', repository.owner, repository.repo, 'issues', 'comments', id],
        `comment ${id} in ${nameOf(repository)}`,
        undefined,
        signal,
      ),
      (cause) => noComment(this.name, repository, number, id, cause),
    );
  }

  /** A write goes to the canonical name: only reads follow the redirect of a renamed repository. */
  async #forWriting(ref: RepositoryRef, signal: AbortSignal | undefined): Promise<Repository> {
    await this.#token.need(this.name);
    return this.repository(ref, signal);
  }

  /** A 404 does not say whether the issue or the whole repository is not there. */
  async #explain(
    error: unknown,
    ref: RepositoryRef,
    absent: () => CoreError,
    signal?: AbortSignal,
  ): Promise<never> {
    if (!(error instanceof NotFound)) throw error;
    await this.repository(ref, signal);
    throw absent();
  }

  /** Gitea answers 500, not 404, when comments of an issue are asked for that is not there. */
  async #explainComments(
    error: unknown,
    ref: RepositoryRef,
    number: number,
    signal?: AbortSignal,
  ): Promise<never> {
    if (error instanceof Unavailable && error.facts.status === 500) await this.issue(ref, number, signal);
    return this.#explain(error, ref, () => noIssue(this.name, ref, number, error), signal);
  }

  async #unlessHidden(
    parts: readonly string[],
    what: string,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    try {
      return (await this.#client.get(parts, what, signal)).data;
    } catch (error) {
      if (error instanceof NotFound || (error instanceof Unauthorized && error.facts.status === 403))
        return null;
      throw error;
    }
  }

  #decode<A>(codec: t.Decoder<unknown, A>, data: unknown, what: string): A {
    return decode(codec, data, `answer of forge '${this.name}' about ${what}`, 'forge_reply_invalid');
  }
}
