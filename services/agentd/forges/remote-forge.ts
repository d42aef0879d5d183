import type * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { type CoreError, NotFound, Unauthorized } from '#kit/errors.ts';
import type { ForgeKind } from '#kit/forges/registry.ts';
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
} from '../ports/forge.ts';
import { archived, withoutToken } from './access.ts';
import { shortenedBody, wholeBody } from './bodies.ts';
import { type Check, checksTogether } from './checks.ts';
import { checkedCloneUrl, cloneOrigins, pageUrl } from './clone-url.ts';
import type { Call, ConfiguredForge, ForgeFacts, RemoteForgeOptions } from './configured-forge.ts';
import { hasLabel } from './labels.ts';
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
import { OwnAccount } from './own-account.ts';
import { forgeTime, since, wholeSecond } from './times.ts';
import { TokenFile } from './token-file.ts';

export interface FoundRepository {
  readonly reply: {
    readonly owner: { readonly login: string };
    readonly name: string;
    readonly default_branch: string;
    readonly clone_url: string;
    readonly html_url: string;
    readonly archived: boolean;
  };
  /** The `Date` of the answer. */
  readonly date: string | number | null | undefined;
  /** What the account of this token may do there. */
  access(token: string): Access;
}

/** An issue or a comment of a list; `read` asks how its author stands to the repository. */
export interface Listed<A> {
  readonly created_at: string;
  readonly labels: readonly string[];
  read(): Promise<A>;
}

export interface FoundChange {
  readonly issue: Omit<ChangedIssue, 'reopened_at'>;
  /** false where the forge says that it was never opened again. */
  readonly maybe_reopened: boolean;
}

export interface FoundPull {
  readonly state: PullRequest['state'];
  readonly ended_at: string | null;
  read(): Promise<PullRequest>;
}

export interface NewPull {
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
}

/**
 * A forge that is asked over HTTP. Here is what all of them do alike: names are checked before anything is asked, what is not
 * there has one error, writes need a token and the canonical name of a repository. Each kind says how it is asked.
 */
export abstract class RemoteForge implements ConfiguredForge {
  abstract readonly kind: ForgeKind;
  readonly deadline_ms: number;
  readonly name: string;
  readonly url: string;
  protected readonly options: RemoteForgeOptions;
  protected readonly token: TokenFile;
  protected readonly account: OwnAccount;
  /** What git sends beside the token. */
  protected abstract readonly gitUser: string;

  protected constructor(options: RemoteForgeOptions) {
    this.name = options.name;
    this.url = options.base_url;
    this.deadline_ms = options.timeout_ms;
    this.options = options;
    this.token = new TokenFile(options.token_file);
    this.account = new OwnAccount(this.token, options, (signal) => this.askAccount(signal));
  }

  abstract examine(answerMs: number): Promise<ForgeFacts>;
  protected abstract askAccount(signal?: AbortSignal): Promise<Account>;
  protected abstract askRepository(ref: RepositoryRef, call: Call): Promise<FoundRepository>;
  /** null for a pull request. */
  protected abstract askIssue(ref: RepositoryRef, number: number, call: Call): Promise<Issue | null>;
  /** @param from whole seconds; older ones may be among the answer */
  protected abstract askComments(
    ref: RepositoryRef,
    number: number,
    from: string | null,
    call: Call,
  ): Promise<Listed<Comment>[]>;
  /** Without pull requests, in the order of the filter; issues without its label may be among them. */
  protected abstract askIssues(
    ref: RepositoryRef,
    filter: IssueFilter,
    call: Call,
  ): AsyncIterable<Listed<Issue>>;
  /** Without pull requests, the one that changed first comes first. */
  protected abstract askChanges(ref: RepositoryRef, from: string, call: Call): AsyncIterable<FoundChange>;
  /** When an issue was last opened again, not before `from`. */
  protected abstract askReopened(
    ref: RepositoryRef,
    number: number,
    from: string,
    call: Call,
  ): Promise<string | null>;
  /** Why a branch is protected that is not the default one; null where it is not. */
  protected abstract askProtection(
    repository: Repository,
    branch: string,
    call: Call,
  ): Promise<string | null>;
  protected abstract askPulls(repository: Repository, branch: string, call: Call): Promise<PullRequest[]>;
  protected abstract askPull(repository: Repository, number: number, call: Call): Promise<FoundPull>;
  protected abstract askChecks(repository: Repository, commit: string, call: Call): Promise<Check[]>;
  protected abstract writePull(repository: Repository, request: NewPull, call: Call): Promise<PullRequest>;
  protected abstract writeClosed(repository: Repository, number: number, call: Call): Promise<void>;
  protected abstract writeComment(
    repository: Repository,
    number: number,
    body: string,
    call: Call,
  ): Promise<Comment>;
  protected abstract removeComment(repository: Repository, id: string, call: Call): Promise<void>;

  missing(): string | null {
    if (this.token.path === null || this.token.exists()) return null;
    return `token file ${this.token.path}`;
  }

  self(signal?: AbortSignal): Promise<Account> {
    return this.account.get(signal);
  }

  async gitCredential(): Promise<GitCredential | null> {
    const password = await this.token.read();
    if (password === null) return null;
    const source = `the token in ${this.token.path}`;
    return { username: this.gitUser, password, origins: cloneOrigins(this.options), source };
  }

  async repository(ref: RepositoryRef, signal?: AbortSignal): Promise<Repository> {
    checkRepositoryRef(ref);
    const { reply, date, access } = await orAbsent(
      this.askRepository(ref, { what: `repository ${nameOf(ref)}`, signal }),
      (cause) => noRepository(this.name, ref, cause),
    );
    const url = checkedCloneUrl(reply.clone_url, this.options);
    return {
      owner: reply.owner.login,
      repo: reply.name,
      default_branch: reply.default_branch,
      clone_url: url,
      push_url: url,
      html_url: pageUrl(reply.html_url),
      archived: reply.archived,
      access: await this.#access(reply.archived, access),
      forge_time: forgeTime(date),
    };
  }

  async #access(isArchived: boolean, ofToken: (token: string) => Access): Promise<Access> {
    const token = await this.token.read();
    if (isArchived) return archived;
    return token === null ? withoutToken(this.name, this.token.path) : ofToken(token);
  }

  async issue(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<Issue> {
    checkRepositoryRef(ref);
    checkNumber(number);
    const issue = await this.askIssue(ref, number, { what: `issue ${nameOf(ref, number)}`, signal });
    if (issue === null) throw pullRequestInstead(ref, number);
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
    const from = options.since === undefined ? null : wholeSecond(options.since);
    const what = `comments of ${nameOf(ref, number)}`;
    const listed = await this.askComments(ref, number, from, { what, signal });
    const comments: Comment[] = [];
    for (const entry of listed.filter(since(options.since))) comments.push(await entry.read());
    return comments;
  }

  async listIssues(ref: RepositoryRef, filter: IssueFilter, signal?: AbortSignal): Promise<Issue[]> {
    checkRepositoryRef(ref);
    const found: Issue[] = [];
    for await (const entry of this.askIssues(ref, filter, { what: `issues of ${nameOf(ref)}`, signal })) {
      if (!hasLabel(entry, filter)) continue;
      const issue = await entry.read();
      found.push({ ...issue, body: shortenedBody(issue.body) });
      if (found.length >= filter.limit) break;
    }
    return found;
  }

  async changedIssues(
    ref: RepositoryRef,
    { since, limit }: ChangeFilter,
    signal?: AbortSignal,
  ): Promise<ChangedIssue[]> {
    checkRepositoryRef(ref);
    const from = wholeSecond(since);
    const changed: ChangedIssue[] = [];
    const changes = this.askChanges(ref, from, { what: `changed issues of ${nameOf(ref)}`, signal });
    for await (const { issue, maybe_reopened } of changes) {
      const { number, state } = issue;
      const what = `what happened to ${nameOf(ref, number)}`;
      const reopened_at =
        state === 'open' && maybe_reopened
          ? await this.askReopened(ref, number, from, { what, signal })
          : null;
      changed.push({ ...issue, reopened_at });
      if (changed.length >= limit) break;
    }
    return changed;
  }

  async protection(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<Protection> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    if (branch === repository.default_branch) return { protected: true, reason: 'default branch' };
    const what = `branch ${branch} of ${nameOf(repository)}`;
    const reason = await this.askProtection(repository, branch, { what, signal });
    return reason === null ? { protected: false, reason: '' } : { protected: true, reason };
  }

  async findPullRequests(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<PullRequest[]> {
    checkBranch(branch);
    const repository = await this.repository(ref, signal);
    return this.askPulls(repository, branch, { what: `pull requests of ${nameOf(repository)}`, signal });
  }

  async pullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<PullRequestOutcome> {
    checkNumber(number);
    const repository = await this.repository(ref, signal);
    const { ended_at, read } = await this.#pull(repository, number, signal);
    const pull = await read();
    const commit = pull.head_commit;
    const what = `checks of ${commit?.slice(0, 12)} in ${nameOf(repository)}`;
    const checks = commit === null ? [] : await this.askChecks(repository, commit, { what, signal });
    return { ...pull, ended_at, ...checksTogether(checks) };
  }

  #pull(repository: Repository, number: number, signal?: AbortSignal): Promise<FoundPull> {
    const what = `pull request ${nameOf(repository, number)}`;
    return orAbsent(this.askPull(repository, number, { what, signal }), (cause) =>
      noPullRequest(this.name, repository, number, cause),
    );
  }

  async openPullRequest(ref: RepositoryRef, request: NewPull, signal?: AbortSignal): Promise<PullRequest> {
    const { head, base } = request;
    checkBranch(head);
    checkBranch(base);
    const repository = await this.#forWriting(ref, signal);
    const what = `a pull request from ${head} into ${base} in ${nameOf(repository)}`;
    return this.writePull(repository, request, { what, signal });
  }

  async closePullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const { state } = await this.#pull(repository, number, signal);
    if (state === 'merged') throw pullRequestMerged(repository, number);
    if (state === 'closed') return;
    const what = `pull request ${nameOf(repository, number)}`;
    await orAbsent(this.writeClosed(repository, number, { what, signal }), (cause) =>
      noPullRequest(this.name, repository, number, cause),
    );
  }

  async comment(ref: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<Comment> {
    checkNumber(number);
    const repository = await this.#forWriting(ref, signal);
    const what = `a comment on ${nameOf(repository, number)}`;
    return orAbsent(this.writeComment(repository, number, body, { what, signal }), (cause) =>
      noIssue(this.name, repository, number, cause),
    );
  }

  async deleteComment(ref: RepositoryRef, number: number, id: string, signal?: AbortSignal): Promise<void> {
    checkNumber(number);
    checkCommentId(id);
    const repository = await this.#forWriting(ref, signal);
    await orAbsent(
      this.removeComment(repository, id, { what: `comment ${id} in ${nameOf(repository)}`, signal }),
      (cause) => noComment(this.name, repository, number, id, cause),
    );
  }

  /** A write goes to the canonical name: only reads follow the redirect of a renamed repository. */
  async #forWriting(ref: RepositoryRef, signal: AbortSignal | undefined): Promise<Repository> {
    await this.token.need(this.name);
    return this.repository(ref, signal);
  }

  /** For `catch`: a 404 does not say whether the issue or the whole repository is not there. */
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

  /** Whether an error says that something is not there. */
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
