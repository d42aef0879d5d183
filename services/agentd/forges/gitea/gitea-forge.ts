import { matchesGlob } from 'node:path';
import * as t from 'io-ts';
import { oneOf } from '#kit/decode.ts';
import { messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type {
  Access,
  Account,
  Comment,
  Issue,
  IssueFilter,
  PullRequest,
  Repository,
  RepositoryRef,
} from '../../ports/forge.ts';
import { accessUnknown, accountMayNot, mayPublish } from '../access.ts';
import { type Check, stateOfStatus } from '../checks.ts';
import type { Call, ForgeFacts, RemoteForgeOptions } from '../configured-forge.ts';
import { asked, clockAhead, isSilence } from '../examine.ts';
import { nameOf } from '../names.ts';
import { orAbsent } from '../not-there.ts';
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
import { Associations } from './associations.ts';
import { GiteaClient } from './gitea-client.ts';
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
  stateOfPull,
  TimelineReply,
} from './gitea-replies.ts';
import { lackingIn, lackingOf, scopesIn } from './scopes.ts';

const GiteaSettings = t.strict({ ...remoteSettings, kind: oneOf(['gitea']) });

export const gitea: ForgeAdapter<typeof GiteaSettings> = {
  settings: GiteaSettings,
  create: (settings, parts) => new GiteaForge(remoteOptions('gitea', settings, parts)),
};

/** So many issues are read, where they are wanted in an order that the list does not have. */
const maxSorted = 1_000;

/** Gitea and Forgejo by their REST API v1. */
export class GiteaForge extends RemoteForge {
  readonly kind = 'gitea';
  /** Gitea reads the token from the password and ignores the name. */
  protected readonly gitUser = 'core';
  readonly #client: GiteaClient;
  readonly #associations: Associations;

  constructor(options: RemoteForgeOptions) {
    super(options);
    this.#client = new GiteaClient(options, this.token);
    this.#associations = new Associations(
      this.#client,
      (data, what) => this.decode(PermissionReply, data, what).permission,
    );
  }

  protected async askRepository(ref: RepositoryRef, call: Call): Promise<FoundRepository> {
    const { data, header } = await this.#client.get(path(ref), call);
    const reply = this.decode(RepositoryReply, data, call.what);
    return { reply, date: header('date'), access: () => this.#access(reply) };
  }

  /** Of the account; Gitea does not tell the scopes of its token. */
  #access(found: RepositoryReply): Access {
    if (found.permissions == null) return accessUnknown('Gitea did not say what the account may do');
    if (!found.permissions.push) return accountMayNot(this.token.path);
    if (found.has_pull_requests !== false) return mayPublish;
    return { push: true, pull_request: false, reason: 'pull requests are switched off in its settings' };
  }

  protected async askIssue(ref: RepositoryRef, number: number, call: Call): Promise<Issue | null> {
    const { data } = await this.#client
      .get([...path(ref), 'issues', String(number)], call)
      .catch(this.ifNoIssue(ref, number, call.signal));
    const found = this.decode(IssueReply, data, call.what);
    return found.pull_request === undefined || found.pull_request === null
      ? this.#issue(ref, found, call.signal)
      : null;
  }

  async #issue(ref: RepositoryRef, reply: IssueReply, signal: AbortSignal | undefined): Promise<Issue> {
    return issueOf(reply, await this.#associations.author(ref, reply.user, signal));
  }

  /** Gitea gives all comments at once, whatever page is asked for. */
  protected async askComments(
    ref: RepositoryRef,
    number: number,
    from: string | null,
    call: Call,
  ): Promise<Listed<Comment>[]> {
    const parts = [...path(ref), 'issues', String(number), 'comments'];
    const { data } = await this.#client
      .get(parts, call, from === null ? {} : { since: from })
      .catch(async (error: unknown) => {
        // Gitea answers 500, not 404, when comments of an issue are asked for that is not there.
        if (error instanceof Unavailable && error.facts.status === 500)
          await this.issue(ref, number, call.signal);
        return this.ifNoIssue(ref, number, call.signal)(error);
      });
    return this.decode(t.array(CommentReply), data ?? [], call.what).map((entry) => ({
      created_at: entry.created_at,
      labels: [],
      read: async () => commentOf(entry, await this.#associations.author(ref, entry.user, call.signal)),
    }));
  }

  /**
   * Gitea lists by creation alone: for another order the newest thousand are read. It finds labels only as they are
   * written, and of several only issues that have all, so that all issues are asked for.
   */
  protected async *askIssues(
    ref: RepositoryRef,
    { state, sort }: IssueFilter,
    call: Call,
  ): AsyncGenerator<Listed<Issue>> {
    const listed = (reply: IssueReply): Listed<Issue> => ({
      created_at: reply.created_at,
      labels: (reply.labels ?? []).map(({ name }) => name),
      read: () => this.#issue(ref, reply, call.signal),
    });
    const sorted: IssueReply[] = [];
    for await (const reply of this.#issues(ref, { state }, call)) {
      if (sort !== 'updated') yield listed(reply);
      else if (sorted.push(reply) === maxSorted) break;
    }
    sorted.sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
    yield* sorted.map(listed);
  }

  /** Gitea lists by creation alone, so that all are read before they are sorted. */
  protected async *askChanges(ref: RepositoryRef, from: string, call: Call): AsyncGenerator<FoundChange> {
    const replies: IssueReply[] = [];
    for await (const reply of this.#issues(ref, { state: 'all', since: from }, call)) replies.push(reply);
    replies.sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at));
    for (const reply of replies) {
      const { login } = reply.user ?? { login: 'ghost' };
      const { locked, author, ...issue } = issueOf(reply, { login, association: 'none', bot: false });
      yield { issue: { ...issue, author: author.login }, maybe_reopened: true };
    }
  }

  async *#issues(
    ref: RepositoryRef,
    query: Readonly<Record<string, string>>,
    call: Call,
  ): AsyncGenerator<IssueReply> {
    const parts = [...path(ref), 'issues'];
    try {
      for await (const entry of this.#client.entries(parts, call, { ...query, type: 'issues' }))
        yield this.decode(IssueReply, entry, call.what);
    } catch (error) {
      await this.ifNoRepository(ref, call.signal)(error);
    }
  }

  protected async askReopened(
    ref: RepositoryRef,
    number: number,
    from: string,
    call: Call,
  ): Promise<string | null> {
    const parts = [...path(ref), 'issues', String(number), 'timeline'];
    let last: string | null = null;
    // There is no link to the next page; a page may hold less than it was asked for.
    for (const page of pagesOf(this.name, call.what)) {
      const { data } = await this.#client.get(parts, call, { since: from, page, limit: 50 });
      const entries = this.decode(t.array(TimelineReply), data ?? [], call.what);
      if (entries.length === 0) break;
      last = reopenedIn(entries) ?? last;
    }
    return last;
  }

  protected async askProtection(repository: Repository, branch: string, call: Call): Promise<string | null> {
    const ask = (parts: readonly string[], of: Call) =>
      this.unlessHidden(this.#client.get([...path(repository), ...parts], of));
    const existing = await ask(['branches', branch], call);
    if (existing !== null) {
      const found = this.decode(BranchReply, existing, call.what);
      if (!found.protected) return null;
      const rule = found.effective_branch_protection_name ?? '';
      return rule === '' ? `protected on ${this.name}` : `rule ${rule} on ${this.name}`;
    }
    // Rules are shown to administrators alone; to others, a push to a branch that a rule covers is refused.
    const rules = await ask(['branch_protections'], { ...call, what: `rules of ${nameOf(repository)}` });
    const covering = this.decode(ProtectionRulesReply, rules ?? [], call.what).find(({ rule_name }) =>
      matchesGlob(branch.toLowerCase(), rule_name.toLowerCase()),
    );
    return covering === undefined ? null : `rule ${covering.rule_name} on ${this.name}`;
  }

  protected async askPulls(repository: Repository, branch: string, call: Call): Promise<PullRequest[]> {
    const found: PullRequest[] = [];
    const parts = [...path(repository), 'pulls'];
    for await (const entry of this.#client.entries(parts, call, { state: 'all' })) {
      const reply = this.decode(PullRequestReply, entry, call.what);
      if (reply.head.label === branch && reply.head.repo_id === reply.base.repo_id)
        found.push(await this.#pull(repository, reply, call.signal));
    }
    return found;
  }

  protected async askPull(repository: Repository, number: number, call: Call): Promise<FoundPull> {
    const { data } = await this.#client.get([...path(repository), 'pulls', String(number)], call);
    const reply = this.decode(PullRequestReply, data, call.what);
    const ended_at = reply.merged_at ?? reply.closed_at ?? null;
    return { state: stateOfPull(reply), ended_at, read: () => this.#pull(repository, reply, call.signal) };
  }

  async #pull(
    ref: RepositoryRef,
    reply: PullRequestReply,
    signal: AbortSignal | undefined,
  ): Promise<PullRequest> {
    return pullRequestOf(reply, await this.#associations.author(ref, reply.user, signal));
  }

  protected async askChecks(repository: Repository, commit: string, call: Call): Promise<Check[]> {
    const found = await this.unlessHidden(
      this.#client.get([...path(repository), 'commits', commit, 'status'], call),
    );
    const { statuses } = this.decode(CombinedStatusReply, found ?? { statuses: null }, call.what);
    return (statuses ?? []).map(({ context, status }) => ({ name: context, state: stateOfStatus(status) }));
  }

  protected async askAccount(signal?: AbortSignal): Promise<Account> {
    const { data } = await this.#client.get(['user'], { what: 'our own account', signal });
    const { login, id } = this.decode(AccountReply, data, 'our own account');
    return { login, id: String(id) };
  }

  /** The scopes come from a refusal: only tokens of administrators may read tasks, others are told what they have. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const ask = (parts: string[], what: string) =>
      asked(
        (signal) => this.#client.get(parts, { what, signal }).then((reply) => ({ ...reply, at: Date.now() })),
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
    const account = 'error' in user ? null : this.decode(AccountReply, user.answer.data, 'our own account');
    if (account !== null) this.account.check(account);
    return {
      account: account?.login ?? null,
      scopes,
      lacking: [...new Set(lacking)],
      unanswered:
        'error' in organizations && isSilence(organizations.error) ? ['which organizations it sees'] : [],
      clock_ahead_s: 'error' in user ? null : clockAhead(user.answer.header('date'), sent, user.answer.at),
    };
  }

  protected async writePull(
    repository: Repository,
    { title, body, head, base }: NewPull,
    call: Call,
  ): Promise<PullRequest> {
    const parts = [...path(repository), 'pulls'];
    const { data } = await orAbsent(
      this.#client.write('POST', parts, call, { title, body, head, base }),
      // Gitea's 404 also means that one of the branches is not there.
      (cause) =>
        new NotFound(
          'branch_not_found',
          `forge '${this.name}' has no branch ${head} or no branch ${base} in ${nameOf(repository)}`,
          { cause },
        ),
    );
    return this.#pull(repository, this.decode(PullRequestReply, data, call.what), call.signal);
  }

  protected async writeClosed(repository: Repository, number: number, call: Call): Promise<void> {
    const parts = [...path(repository), 'pulls', String(number)];
    await this.#client.write('PATCH', parts, call, { state: 'closed' });
  }

  protected async writeComment(
    repository: Repository,
    number: number,
    body: string,
    call: Call,
  ): Promise<Comment> {
    const parts = [...path(repository), 'issues', String(number), 'comments'];
    const { data } = await this.#client.write('POST', parts, call, { body });
    const made = this.decode(CommentReply, data, call.what);
    return commentOf(made, await this.#associations.author(repository, made.user, call.signal));
  }

  protected async removeComment(repository: Repository, id: string, call: Call): Promise<void> {
    await this.#client.write('DELETE', [...path(repository), 'issues', 'comments', id], call);
  }
}

function path({ owner, repo }: RepositoryRef): string[] {
  return ['repos', owner, repo];
}
