import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { type CoreError, NotFound, Unauthorized } from '#kit/errors.ts';
import type { ForgeKind } from '#kit/forges/registry.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import type { Permit } from '#kit/permit.ts';
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
  Right,
} from '../ports/forge.ts';
import type { ForgeFacts } from '../ports/forge-report.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';
import { archived, rightIn, rightUnknown, withoutToken } from './access.ts';
import { checkedCloneUrl, cloneOrigins, locateOn, pageUrl } from './clone-url.ts';
import type {
  Call,
  ConfiguredForge,
  Located,
  Query,
  RemoteClient,
  RemoteForgeOptions,
  RemoteReply,
} from './configured-forge.ts';
import { forgeTime, hasLabel, shortenedBody, since, wholeBody, wholeSecond } from './filters.ts';
import { pagesOf } from './http.ts';
import { checkBranch, checkCommentId, checkNumber, checkRepositoryRef, nameOf } from './names.ts';
import {
  noComment,
  noIssue,
  noPullRequest,
  noRepository,
  orAbsent,
  pullRequestInstead,
  pullRequestMerged,
} from './not-there.ts';
import {
  AccountReply,
  type Authored,
  type Check,
  CommentReply,
  checksTogether,
  commentOf,
  IssueReply,
  isPull,
  issueOf,
  labelsOf,
  PermissionReply,
  PullRequestReply,
  pullRequestOf,
  RepositoryReply,
  stateOfPull,
} from './remote-replies.ts';
import { OwnAccount, TokenFile } from './token-file.ts';

export type NewPull = Parameters<ForgeWriter['openPullRequest']>[1];

/** So many issues are read, where they are wanted in an order that the list does not have. */
const maxSorted = 1_000;

/**
 * A forge that is asked over HTTP, by GitHub's REST API or one that follows it. Here is what all of them do alike: names are
 * checked before anything is asked, what is not there has one error, writes need a token and the canonical name of a repository.
 * Each kind adds what its API does differently.
 */
export abstract class RemoteForge implements ConfiguredForge {
  abstract readonly kind: ForgeKind;
  readonly deadline_ms: number;
  readonly name: string;
  readonly url: string;
  protected readonly options: RemoteForgeOptions;
  protected readonly token: TokenFile;
  protected readonly account: OwnAccount;
  protected abstract readonly client: RemoteClient;
  /** What git sends beside the token. */
  protected abstract readonly gitUser: string;
  /** false where issues come by creation alone, whatever order is asked for. */
  protected abstract readonly sortsIssues: boolean;

  protected constructor(options: RemoteForgeOptions) {
    this.name = options.name;
    this.url = options.base_url;
    this.deadline_ms = options.timeout_ms;
    this.options = options;
    this.token = new TokenFile(options.token_file);
    this.account = new OwnAccount(this.token, options, (signal) => this.#ownAccount(signal));
  }

  abstract examine(answerMs: number): Promise<ForgeFacts>;
  /** Of the account of this token. */
  protected abstract accessOf(found: RepositoryReply, reply: RemoteReply, token: string): Access;
  protected abstract author(
    ref: RepositoryRef,
    text: Authored,
    signal: AbortSignal | undefined,
  ): Promise<Author>;
  /** Pull requests may be among the answer, and issues without the label. */
  protected abstract issueQuery(filter: Omit<IssueFilter, 'limit'> & { readonly since?: string }): Query;
  /** When an issue was last opened again, not before `from`. */
  protected abstract askReopened(issue: string[], from: string, call: Call): Promise<string | null>;
  /** `protected` is about the forge's rules; the default branch is protected whatever they are. */
  protected abstract askProtection(repository: Repository, branch: string, call: Call): Promise<Protection>;
  /** Pull requests of other branches may be among the answer. */
  protected abstract pullQuery(repository: Repository, branch: string): Query;
  protected abstract headOf(reply: PullRequestReply): string;
  /** false for the pull request of a fork. */
  protected abstract isOwnBranch(repository: Repository, reply: PullRequestReply): boolean;
  protected abstract askChecks(commit: string[], call: Call): Promise<Check[]>;

  locate(url: string, folder: string): Located | null {
    return locateOn(this.options, url, folder);
  }

  missing(): string | null {
    if (this.token.path === null || this.token.exists()) return null;
    return `token file ${this.token.path}`;
  }

  self(signal?: AbortSignal): Promise<Account> {
    return this.account.get(signal);
  }

  async right(ref: RepositoryRef, login: string, signal?: AbortSignal): Promise<Right> {
    checkRepositoryRef(ref);
    if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(login))
      return rightUnknown(`${JSON.stringify(login.slice(0, 120))} is not a login`);
    const what = `the permission of ${login} in ${nameOf(ref)}`;
    try {
      const path = [...pathOf(ref), 'collaborators', login, 'permission'];
      const { data } = await this.client.get(path, { what, signal });
      return rightIn(this.decode(PermissionReply, data, what));
    } catch (error) {
      if (!(error instanceof Unauthorized) && !(error instanceof NotFound)) throw error;
      return rightUnknown(`${what} could not be learned: ${error.message}`);
    }
  }

  async gitCredential(): Promise<GitCredential | null> {
    const password = await this.token.read();
    if (password === null) return null;
    const source = `the token in ${this.token.path}`;
    return { username: this.gitUser, password, origins: cloneOrigins(this.options), source };
  }

  protected user(signal?: AbortSignal): Promise<RemoteReply> {
    return this.client.get(['user'], { what: 'our own account', signal });
  }

  async #ownAccount(signal?: AbortSignal): Promise<Account> {
    const { data } = await this.user(signal);
    const { login, id } = this.decode(AccountReply, data, 'our own account');
    return { login, id: String(id) };
  }

  async repository(ref: RepositoryRef, signal?: AbortSignal): Promise<Repository> {
    checkRepositoryRef(ref);
    const call = { what: `repository ${nameOf(ref)}`, signal };
    const { repository_id: id } = ref;
    const path = id === undefined ? pathOf(ref) : ['repositories', id];
    const reply = await orAbsent(this.client.get(path, call), (cause) => noRepository(this.name, ref, cause));
    const found = this.decode(RepositoryReply, reply.data, call.what);
    const canonical = { owner: found.owner.login, repo: found.name };
    checkRepositoryRef(canonical);
    const url = checkedCloneUrl(found.clone_url, this.options);
    return {
      ...canonical,
      repository_id: String(found.id),
      default_branch: found.default_branch,
      clone_url: url,
      push_url: url,
      html_url: pageUrl(found.html_url),
      archived: found.archived,
      access: await this.#access(found, reply),
      forge_time: forgeTime(reply.header('date')),
    };
  }

  /** A repository that is meant by its id has another name after a rename. */
  async #named(ref: RepositoryRef, signal?: AbortSignal): Promise<RepositoryRef> {
    checkRepositoryRef(ref);
    return ref.repository_id === undefined ? ref : this.repository(ref, signal);
  }

  async #access(found: RepositoryReply, reply: RemoteReply): Promise<Access> {
    const token = await this.token.read();
    if (found.archived) return archived;
    return token === null ? withoutToken(this.name, this.token.path) : this.accessOf(found, reply, token);
  }

  async issue(meant: RepositoryRef, number: number, signal?: AbortSignal): Promise<Issue> {
    checkNumber(number);
    const ref = await this.#named(meant, signal);
    const call = { what: `issue ${nameOf(ref, number)}`, signal };
    const { data } = await this.client
      .get(issuePath(ref, number), call)
      .catch(this.ifNoIssue(ref, number, signal));
    const reply = this.decode(IssueReply, data, call.what);
    await this.checkFound(ref, number, reply, signal);
    if (isPull(reply)) throw pullRequestInstead(ref, number);
    const issue = await this.#issue(ref, reply, signal);
    return { ...issue, body: wholeBody(issue.body, nameOf(ref, number)) };
  }

  /** @throws NotFound where the answer is another issue than the one that was asked for */
  protected async checkFound(
    _ref: RepositoryRef,
    _number: number,
    _found: IssueReply,
    _signal?: AbortSignal,
  ): Promise<void> {}

  async #issue(ref: RepositoryRef, reply: IssueReply, signal: AbortSignal | undefined): Promise<Issue> {
    const locked = reply.locked ?? reply.is_locked ?? false;
    return { ...issueOf(reply), locked, author: await this.author(ref, reply, signal) };
  }

  async comments(
    meant: RepositoryRef,
    number: number,
    options: { since?: string } = {},
    signal?: AbortSignal,
  ): Promise<Comment[]> {
    checkNumber(number);
    const ref = await this.#named(meant, signal);
    const query: Query = options.since === undefined ? {} : { since: wholeSecond(options.since) };
    const call = { what: `comments of ${nameOf(ref, number)}`, signal };
    const replies = await this.askComments(ref, number, query, call).catch(
      this.ifNoIssue(ref, number, signal),
    );
    const comments: Comment[] = [];
    for (const reply of this.decode(t.array(CommentReply), replies, call.what).filter(since(options.since)))
      comments.push(commentOf(reply, await this.author(ref, reply, signal)));
    return comments;
  }

  protected askComments(ref: RepositoryRef, number: number, query: Query, call: Call): Promise<unknown[]> {
    return this.list([...issuePath(ref, number), 'comments'], call, query);
  }

  async listIssues(meant: RepositoryRef, filter: IssueFilter, signal?: AbortSignal): Promise<Issue[]> {
    const ref = await this.#named(meant, signal);
    const call = { what: `issues of ${nameOf(ref)}`, signal };
    const query = this.issueQuery(filter);
    const replies =
      filter.sort === 'updated' && !this.sortsIssues
        ? (await this.#issuesByUpdate(ref, query, call, maxSorted)).reverse()
        : this.#issues(ref, query, call);
    const found: Issue[] = [];
    for await (const reply of replies) {
      if (!hasLabel({ labels: labelsOf(reply) }, filter)) continue;
      const issue = await this.#issue(ref, reply, signal);
      found.push({ ...issue, body: shortenedBody(issue.body) });
      if (found.length >= filter.limit) break;
    }
    return found;
  }

  async changedIssues(
    meant: RepositoryRef,
    { since, limit }: ChangeFilter,
    signal?: AbortSignal,
  ): Promise<ChangedIssue[]> {
    const ref = await this.#named(meant, signal);
    const from = wholeSecond(since);
    const call = { what: `changed issues of ${nameOf(ref)}`, signal };
    const query = this.issueQuery({ state: 'all', since: from });
    const replies = this.sortsIssues
      ? this.#issues(ref, query, call)
      : await this.#issuesByUpdate(ref, query, call);
    const changed: ChangedIssue[] = [];
    for await (const reply of replies) {
      const issue = issueOf(reply);
      // A forge that does not give the reason is asked for the history.
      const { state_reason: reason, user } = reply;
      const maybeReopened = issue.state === 'open' && (reason === undefined || reason === 'reopened');
      const what = `what happened to ${nameOf(ref, issue.number)}`;
      const reopened_at = maybeReopened
        ? await this.askReopened(issuePath(ref, issue.number), from, { what, signal })
        : null;
      changed.push({ ...issue, author: user?.login ?? 'ghost', reopened_at });
      if (changed.length >= limit) break;
    }
    return changed;
  }

  async *#issues(ref: RepositoryRef, query: Query, call: Call): AsyncGenerator<IssueReply> {
    try {
      for await (const entry of this.entries([...pathOf(ref), 'issues'], call, query)) {
        const reply = this.decode(IssueReply, entry, call.what);
        if (!isPull(reply)) yield reply;
      }
    } catch (error) {
      await this.ifNoRepository(ref, call.signal)(error);
    }
  }

  /** The one that changed first comes first. */
  async #issuesByUpdate(
    ref: RepositoryRef,
    query: Query,
    call: Call,
    limit = Number.POSITIVE_INFINITY,
  ): Promise<IssueReply[]> {
    const replies: IssueReply[] = [];
    for await (const reply of this.#issues(ref, query, call)) if (replies.push(reply) === limit) break;
    return replies.sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at));
  }

  protected async *entries(path: readonly string[], call: Call, query: Query): AsyncGenerator<unknown> {
    for (const page of pagesOf(this.name, call.what)) {
      const { data, header } = await this.client.get(path, call, { ...query, ...this.client.pageSize, page });
      if (!Array.isArray(data)) {
        yield data;
        return;
      }
      yield* data;
      // A server may be set to smaller pages than we ask for, so that only the link shows which is the last one.
      if (data.length === 0 || !/\brel="?next"?/.test(header('link') ?? '')) return;
    }
  }

  async protection(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<Protection> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    const what = `branch ${branch} of ${nameOf(repository)}`;
    const found = await this.askProtection(repository, branch, { what, signal });
    return branch === repository.default_branch
      ? { ...found, protected: true, reason: 'default branch' }
      : found;
  }

  protected async list(path: readonly string[], call: Call, query: Query = {}): Promise<unknown[]> {
    const entries: unknown[] = [];
    for await (const entry of this.entries(path, call, query)) entries.push(entry);
    return entries;
  }

  async findPullRequests(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<PullRequest[]> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    const call = { what: `pull requests of ${nameOf(repository)}`, signal };
    const found: PullRequest[] = [];
    const query = this.pullQuery(repository, branch);
    for await (const entry of this.entries([...pathOf(repository), 'pulls'], call, query)) {
      const reply = this.decode(PullRequestReply, entry, call.what);
      if (this.headOf(reply) === branch && this.isOwnBranch(repository, reply))
        found.push(await this.#pullRequest(repository, reply, signal));
    }
    return found;
  }

  async pullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<PullRequestOutcome> {
    checkNumber(number);
    const repository = await this.repository(ref, signal);
    const reply = await this.#pull(repository, number, signal);
    const pull = await this.#pullRequest(repository, reply, signal);
    const commit = pull.head_commit;
    const what = `checks of ${commit?.slice(0, 12)} in ${nameOf(repository)}`;
    const checks =
      commit === null
        ? []
        : await this.askChecks([...pathOf(repository), 'commits', commit], { what, signal });
    const ended_at = reply.merged_at ?? reply.closed_at ?? null;
    return { ...pull, ended_at, ...checksTogether(checks) };
  }

  async #pull(repository: Repository, number: number, signal?: AbortSignal): Promise<PullRequestReply> {
    const what = `pull request ${nameOf(repository, number)}`;
    const { data } = await orAbsent(
      this.client.get(pullPath(repository, number), { what, signal }),
      (cause) => noPullRequest(this.name, repository, number, cause),
    );
    return this.decode(PullRequestReply, data, what);
  }

  async #pullRequest(
    repository: Repository,
    reply: PullRequestReply,
    signal: AbortSignal | undefined,
  ): Promise<PullRequest> {
    return pullRequestOf(reply, this.headOf(reply), await this.author(repository, reply, signal));
  }

  async openPullRequest(ref: RepositoryRef, request: NewPull, permit?: Permit): Promise<PullRequest> {
    const { title, body, head, base } = request;
    checkBranch(head);
    checkBranch(base);
    const repository = await this.#forWriting(ref);
    const what = `a pull request from ${head} into ${base} in ${nameOf(repository)}`;
    const { data } = await orAbsent(
      this.client.write(
        'POST',
        [...pathOf(repository), 'pulls'],
        { what, permit },
        { title, body, head, base },
      ),
      (cause) => this.pullNotOpened(repository, request, cause),
    );
    return this.#pullRequest(repository, this.decode(PullRequestReply, data, what), undefined);
  }

  /** What a 404 means that answers a new pull request. */
  protected pullNotOpened(repository: Repository, _request: NewPull, cause: NotFound): NotFound {
    return noRepository(this.name, repository, cause);
  }

  async closePullRequest(ref: RepositoryRef, number: number, permit?: Permit): Promise<void> {
    checkNumber(number);
    const repository = await this.#forWriting(ref);
    const state = stateOfPull(await this.#pull(repository, number));
    if (state === 'merged') throw pullRequestMerged(repository, number);
    if (state === 'closed') return;
    const call = { what: `pull request ${nameOf(repository, number)}`, permit };
    await orAbsent(
      this.client.write('PATCH', pullPath(repository, number), call, { state: 'closed' }),
      (cause) => noPullRequest(this.name, repository, number, cause),
    );
  }

  async comment(ref: RepositoryRef, number: number, body: string, permit?: Permit): Promise<Comment> {
    checkNumber(number);
    const repository = await this.#forWriting(ref);
    const what = `a comment on ${nameOf(repository, number)}`;
    const path = [...issuePath(repository, number), 'comments'];
    const { data } = await orAbsent(this.client.write('POST', path, { what, permit }, { body }), (cause) =>
      noIssue(this.name, repository, number, cause),
    );
    const made = this.decode(CommentReply, data, what);
    return commentOf(made, await this.author(repository, made, undefined));
  }

  async deleteComment(ref: RepositoryRef, number: number, id: string, permit?: Permit): Promise<void> {
    checkNumber(number);
    checkCommentId(id);
    const repository = await this.#forWriting(ref);
    const call = { what: `comment ${id} in ${nameOf(repository)}`, permit };
    const path = [...pathOf(repository), 'issues', 'comments', id];
    await orAbsent(this.client.write('DELETE', path, call), (cause) =>
      noComment(this.name, repository, number, id, cause),
    );
  }

  /** A write goes to the canonical name: only reads follow the redirect of a renamed repository. */
  async #forWriting(ref: RepositoryRef): Promise<Repository> {
    await this.token.need(this.name);
    return this.repository(ref);
  }

  /** For `catch`: a 404 can mean the issue or the whole repository. */
  protected ifNoIssue(ref: RepositoryRef, number: number, signal?: AbortSignal) {
    return (error: unknown): Promise<never> =>
      this.#explain(error, ref, noIssue(this.name, ref, number, error), signal);
  }

  protected ifNoRepository(ref: RepositoryRef, signal?: AbortSignal) {
    return (error: unknown): Promise<never> =>
      this.#explain(error, ref, noRepository(this.name, ref, error), signal);
  }

  async #explain(
    error: unknown,
    ref: RepositoryRef,
    absent: CoreError,
    signal?: AbortSignal,
  ): Promise<never> {
    if (!this.isGone(error)) throw error;
    await this.repository(ref, signal);
    throw absent;
  }

  /** True for an error that means that something is not there. */
  protected isGone(error: unknown): boolean {
    return error instanceof NotFound;
  }

  /** null for what is not there. */
  protected async unlessAbsent(answer: Promise<{ readonly data: unknown }>): Promise<unknown> {
    try {
      return (await answer).data;
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  }

  /** null also for what is not shown to us. */
  protected async unlessHidden(answer: Promise<{ readonly data: unknown }>): Promise<unknown> {
    try {
      return await this.unlessAbsent(answer);
    } catch (error) {
      if (error instanceof Unauthorized && error.facts.status === 403) return null;
      throw error;
    }
  }

  protected decode<A>(codec: t.Decoder<unknown, A>, data: unknown, what: string): A {
    return decode(codec, data, `answer of forge '${this.name}' about ${what}`, 'forge_reply_invalid');
  }
}

export function pathOf({ owner, repo }: RepositoryRef): string[] {
  return ['repos', owner, repo];
}

function issuePath(ref: RepositoryRef, number: number): string[] {
  return [...pathOf(ref), 'issues', String(number)];
}

function pullPath(ref: RepositoryRef, number: number): string[] {
  return [...pathOf(ref), 'pulls', String(number)];
}
