import * as t from 'io-ts';
import { oneOf, Timestamp } from '#kit/decode.ts';
import { messageOf, NotFound, Unauthorized, Unavailable } from '#kit/errors.ts';
import type {
  Access,
  Author,
  IssueFilter,
  Protection,
  Repository,
  RepositoryRef,
  Right,
} from '../../ports/forge.ts';
import type { ForgeFacts, LackingScope } from '../../ports/forge-report.ts';
import {
  accessUnknown,
  accountMayNot,
  mayPublish,
  outsider,
  rightToWrite,
  type Standing,
  Standings,
  standingUnknown,
} from '../access.ts';
import type { Call, Query, RemoteForgeOptions, RemoteReply } from '../configured-forge.ts';
import { clockAhead, isSilence } from '../examine.ts';
import { pagesOf } from '../http.ts';
import { nameOf } from '../names.ts';
import { type NewPull, pathOf, RemoteForge } from '../remote-forge.ts';
import {
  AccountReply,
  type Authored,
  type Check,
  CombinedStatusReply,
  type PullRequestReply,
  type RepositoryReply,
  statusChecks,
} from '../remote-replies.ts';
import { type ForgeAdapter, remoteOptions, remoteSettings } from '../settings.ts';
import { Branch, closes, coveringRule, ProtectionReply, rulesOf, shownRules } from './branch-rules.ts';
import { GiteaClient } from './gitea-client.ts';

const GiteaSettings = t.strict({ ...remoteSettings, kind: oneOf(['gitea']) });

export const gitea: ForgeAdapter<typeof GiteaSettings> = {
  settings: GiteaSettings,
  create: (settings, parts) => new GiteaForge(remoteOptions('gitea', settings, parts)),
};

/** 1 and "reopen" are the same in older and newer versions. */
const Timeline = t.array(t.strict({ type: t.union([t.string, t.number]), created_at: Timestamp }));

/** Gitea and Forgejo by their REST API v1. */
export class GiteaForge extends RemoteForge {
  readonly kind = 'gitea';
  /** Gitea reads the token from the password and ignores the name. */
  protected readonly gitUser = 'core';
  protected readonly sortsIssues = false;
  protected readonly client: GiteaClient;
  readonly #standings = new Standings();

  constructor(options: RemoteForgeOptions) {
    super(options);
    this.client = new GiteaClient(options, this.token);
  }

  /** Of the account; Gitea does not show the scopes of its token. */
  protected accessOf(found: RepositoryReply): Access {
    if (found.permissions == null) return accessUnknown('Gitea did not say what the account may do');
    if (!found.permissions.push) return accountMayNot(this.token.path);
    if (found.has_pull_requests !== false) return mayPublish;
    return { push: true, pull_request: false, reason: 'pull requests are switched off in its settings' };
  }

  /**
   * Gitea's answers leave out how authors stand to a repository, so it is asked: the permission, which only administrators of the
   * repository learn, else membership in the owning organisation. An author whose permission stays unknown counts as an outsider,
   * with the reason.
   */
  protected async author(
    ref: RepositoryRef,
    { user }: Authored,
    signal: AbortSignal | undefined,
  ): Promise<Author> {
    // Gitea's own accounts (ghost, actions) have numbers below one and are nobody's.
    if (user === null || user.id < 1)
      return { login: user?.login ?? 'ghost', association: 'none', bot: user !== null };
    const { login } = user;
    const standing = await this.#standings.of(ref, login, () => this.#standing(ref, login, signal));
    return { id: String(user.id), login, ...standing, bot: login.endsWith('[bot]') };
  }

  async #standing(ref: RepositoryRef, login: string, signal: AbortSignal | undefined): Promise<Standing> {
    const { owner } = ref;
    if (login.toLowerCase() === owner.toLowerCase()) return { association: 'owner' };
    const what = `how ${login} stands to ${nameOf(ref)}`;
    const collaborator = [...pathOf(ref), 'collaborators', login];
    const invited = await this.#tried(collaborator, { what, signal });
    if (invited instanceof Unauthorized) return notLearned(what, invited);
    const isInvited = !(invited instanceof NotFound);
    const { right } = await this.right(ref, login, signal);
    if (right !== null) {
      if (right !== 'write') return outsider;
      return { association: isInvited ? 'collaborator' : 'member' };
    }
    const member = await this.#tried(['orgs', owner, 'members', login], { what, signal });
    if (!(member instanceof Error)) return { association: 'member' };
    if (isInvited) {
      return standingUnknown(
        `${what} could not be learned: they were invited, but only administrators of the repository may ask for their permission`,
      );
    }
    if (member instanceof Unauthorized) return notLearned(what, member);
    // Who is no member is sent on to the list of those members that show themselves.
    if (!String(member.facts.url).includes('/public_members/')) return outsider;
    return standingUnknown(
      `${what} could not be learned: our account is no member of ${owner}, which shows only its public members to it`,
    );
  }

  /** Only administrators of the repository may ask about others. An owner is known without asking. */
  override async right(ref: RepositoryRef, login: string, signal?: AbortSignal): Promise<Right> {
    const isOwner = login.toLowerCase() === ref.owner.toLowerCase();
    return isOwner ? rightToWrite : super.right(ref, login, signal);
  }

  /** The answer, also a refusal, or that there is no such thing. */
  async #tried(path: readonly string[], call: Call): Promise<RemoteReply | NotFound | Unauthorized> {
    try {
      return await this.client.get(path, call);
    } catch (error) {
      if (error instanceof NotFound || error instanceof Unauthorized) return error;
      throw error;
    }
  }

  /** Gitea gives all comments at once, whatever page is asked for. */
  protected override async askComments(
    ref: RepositoryRef,
    number: number,
    query: Query,
    call: Call,
  ): Promise<unknown[]> {
    const path = [...pathOf(ref), 'issues', String(number), 'comments'];
    const { data } = await this.client.get(path, call, query).catch(async (error: unknown) => {
      // Gitea answers 500, not 404, when comments of an issue are asked for that is not there.
      if (error instanceof Unavailable && error.facts.status === 500)
        await this.issue(ref, number, call.signal);
      throw error;
    });
    return this.decode(t.UnknownArray, data ?? [], call.what);
  }

  /** Gitea finds labels only as they are written, and of several only issues that have all, so that all issues are asked for. */
  protected issueQuery({ state, since }: Omit<IssueFilter, 'limit'> & { since?: string }): Query {
    return { state, type: 'issues', ...(since === undefined ? {} : { since }) };
  }

  protected async askReopened(issue: string[], from: string, call: Call): Promise<string | null> {
    let last: string | null = null;
    // There is no link to the next page; a page may hold less than it was asked for.
    for (const page of pagesOf(this.name, call.what)) {
      const query = { since: from, ...this.client.pageSize, page };
      const { data } = await this.client.get([...issue, 'timeline'], call, query);
      const entries = this.decode(Timeline, data ?? [], call.what);
      if (entries.length === 0) break;
      last = entries.findLast(({ type }) => type === 'reopen' || type === 1)?.created_at ?? last;
    }
    return last;
  }

  /**
   * All rules are in one answer, which has no pages. They are shown to administrators only: others learn of a rule once there is a
   * branch that it covers, and a push to a new branch that it covers is refused.
   */
  protected async askProtection(repository: Repository, branch: string, call: Call): Promise<Protection> {
    const path = pathOf(repository);
    const what = `rules of ${nameOf(repository)}`;
    const listed = await this.unlessHidden(
      this.client.get([...path, 'branch_protections'], { ...call, what }),
    );
    const all = listed === null ? null : this.decode(t.array(ProtectionReply), listed, what);
    const covering = all === null ? null : coveringRule(all, branch);
    if (covering !== null) {
      const rules = rulesOf(covering, this.name, (await this.self(call.signal)).login);
      const reason = rules.some(closes) ? `rule ${covering.rule_name} on ${this.name}` : '';
      return { protected: reason !== '', reason, rules, unread: null };
    }
    const unread =
      all === null ? `${this.name} shows its rules only to administrators of the repository` : null;
    const existing = await this.unlessAbsent(this.client.get([...path, 'branches', branch], call));
    const found = existing === null ? null : this.decode(Branch, existing, call.what);
    if (found === null || !found.protected) return { protected: false, reason: '', rules: [], unread };
    const name = found.effective_branch_protection_name ?? '';
    const reason = name === '' ? `protected on ${this.name}` : `rule ${name} on ${this.name}`;
    return { protected: true, reason, rules: shownRules(found, reason), unread };
  }

  protected pullQuery(): Query {
    return { state: 'all' };
  }

  /** `ref` becomes `refs/pull/<n>/head` when the branch is gone; `label` stays its name. */
  protected headOf({ head }: PullRequestReply): string {
    return head.label ?? head.ref;
  }

  protected isOwnBranch(_: Repository, { head, base }: PullRequestReply): boolean {
    return head.repo_id === base.repo_id;
  }

  protected async askChecks(commit: string[], call: Call): Promise<Check[]> {
    const found = await this.unlessHidden(this.client.get([...commit, 'status'], call));
    return statusChecks(this.decode(CombinedStatusReply, found ?? { statuses: null }, call.what));
  }

  /** The scopes come from a refusal: only tokens of administrators may read tasks, and the refusal of others lists theirs. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const ask = async (path: string[], what: string) => {
      const reply = await this.client.get(path, { what, signal: AbortSignal.timeout(answerMs) });
      return { ...reply, at: Date.now() };
    };
    const [user, organizations, tasks] = await Promise.allSettled([
      ask(['user'], 'our own account'),
      ask(['user', 'orgs'], 'our organizations'),
      ask(['admin', 'cron'], 'tasks of administrators'),
    ]);
    const refusals = [user, organizations, tasks].map((one) =>
      one.status === 'rejected' ? messageOf(one.reason) : '',
    );
    const scopes = refusals.map(scopesIn).find((found) => found !== null) ?? null;
    const lacking = scopes === null ? refusals.slice(0, 2).flatMap(lackingIn) : lackingOf(scopes);
    const silent = organizations.status === 'rejected' && isSilence(organizations.reason);
    const facts = {
      ...{ scopes, lacking: [...new Set(lacking)] },
      unanswered: silent ? ['which organizations it sees'] : [],
    };
    if (user.status === 'rejected') {
      if (lacking.some(({ scope }) => scope === 'read:user'))
        return { ...facts, account: null, clock_ahead_s: null };
      throw user.reason;
    }
    const { data, header, at } = user.value;
    const { login } = this.decode(AccountReply, data, 'our own account');
    this.account.check({ login });
    return { ...facts, account: login, clock_ahead_s: clockAhead(header('date'), sent, at) };
  }

  /** Gitea's 404 also means that one of the branches is not there. */
  protected override pullNotOpened(
    repository: Repository,
    { head, base }: NewPull,
    cause: NotFound,
  ): NotFound {
    return new NotFound(
      'branch_not_found',
      `forge '${this.name}' has no branch ${head} or no branch ${base} in ${nameOf(repository)}`,
      { cause },
    );
  }
}

function notLearned(what: string, { message }: Unauthorized): Standing {
  return standingUnknown(`${what} could not be learned: ${message}`);
}

const neededScopes: readonly LackingScope[] = [
  { scope: 'read:user', needed_by: 'execute-approved, which acts under its own name' },
  {
    scope: 'read:organization',
    needed_by: 'plan-issue, which asks who is a member of an organisation and so trusted',
  },
  { scope: 'write:repository', needed_by: 'execute-approved, which pushes and opens pull requests' },
  { scope: 'write:issue', needed_by: 'execute-approved, which comments on the issue' },
];

/** What a list of scopes does not allow; to write allows to read. */
function lackingOf(scopes: readonly string[]): LackingScope[] {
  if (scopes.includes('all')) return [];
  return neededScopes.filter(
    ({ scope }) => !scopes.includes(scope) && !scopes.includes(scope.replace('read:', 'write:')),
  );
}

/** Those of them that a refusal names. */
function lackingIn(words: string): LackingScope[] {
  return neededScopes.filter(({ scope }) =>
    new RegExp(`required scope\\(s\\)[^\\]]*\\b${scope}\\b`).test(words),
  );
}

/** Since 1.23 a refusal for lack of a scope says which the token has; null where it does not. */
function scopesIn(words: string): string[] | null {
  const found = /\btoken scope=([a-z:,-]+)/.exec(words)?.[1];
  return found === undefined ? null : found.split(',');
}
