import * as t from 'io-ts';
import { nullable, oneOf, optional } from '#kit/decode.ts';
import { NotFound, Refused, Unauthorized } from '#kit/errors.ts';
import type { BranchRule } from '../../ports/branch-rules.ts';
import type {
  Access,
  Association,
  Author,
  IssueFilter,
  Protection,
  Repository,
  RepositoryRef,
} from '../../ports/forge.ts';
import type { ForgeFacts } from '../../ports/forge-report.ts';
import {
  accessUnknown,
  accountMayNot,
  mayNotPush,
  mayPublish,
  outsider,
  type Standing,
  Standings,
  standingUnknown,
} from '../access.ts';
import type { Call, Query, RemoteReply } from '../configured-forge.ts';
import { clockAhead } from '../examine.ts';
import { pagesOf } from '../http.ts';
import { nameOf } from '../names.ts';
import { pathOf, RemoteForge } from '../remote-forge.ts';
import {
  AccountReply,
  type Authored,
  type Check,
  CombinedStatusReply,
  type IssueReply,
  type PullRequestReply,
  type RepositoryReply,
  statusChecks,
} from '../remote-replies.ts';
import { type ForgeAdapter, remoteOptions, remoteSettings } from '../settings.ts';
import { classicRules, closingRules, RuleReply, RulesetReply, ruleOf } from './branch-rules.ts';
import { GitHubClient, type GitHubOptions } from './github-client.ts';

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

const IssueEvents = t.array(t.strict({ event: t.string, created_at: t.string }));
const CheckRuns = t.strict({
  total_count: t.number,
  check_runs: t.array(t.strict({ name: t.string, status: t.string, conclusion: nullable(t.string) })),
});
type CheckRun = t.TypeOf<typeof CheckRuns>['check_runs'][number];
const Branch = t.strict({
  protected: t.boolean,
  /** The branch protection that GitHub had before rulesets. */
  protection: optional(
    t.strict({
      enabled: optional(t.boolean),
      required_status_checks: optional(t.strict({ contexts: t.array(t.string) })),
    }),
  ),
});

const associations: Readonly<Record<string, Association>> = {
  OWNER: 'owner',
  MEMBER: 'member',
  COLLABORATOR: 'collaborator',
  CONTRIBUTOR: 'contributor',
};

/** GitHub and GitHub Enterprise by their REST API. */
export class GitHubForge extends RemoteForge {
  readonly kind = 'github';
  protected readonly gitUser = 'x-access-token';
  protected readonly sortsIssues = true;
  protected readonly client: GitHubClient;
  readonly #standings = new Standings();

  constructor(options: GitHubOptions) {
    super(options);
    this.client = new GitHubClient(options, this.token);
  }

  /** Of the account; of a classic token also its scopes, which only those carry. GitHub gives no permissions of other tokens. */
  protected accessOf(found: RepositoryReply, { header }: RemoteReply, token: string): Access {
    if (found.permissions == null) return accessUnknown('GitHub did not say what the token may do');
    if (!found.permissions.push) {
      const app = this.options.account !== null || token.startsWith('ghs_');
      return app
        ? accessUnknown('GitHub does not show the token of an app its permissions')
        : accountMayNot(this.token.path);
    }
    const held = header('x-oauth-scopes')?.split(/\s*,\s*/);
    if (held === undefined || held.includes('repo')) return mayPublish;
    if (found.private === false && held.includes('public_repo')) return mayPublish;
    return mayNotPush(`the token in ${this.token.path} lacks the scope repo`);
  }

  /** GitHub redirects a transferred issue to another repository, which nobody asked about. */
  protected override async checkFound(
    ref: RepositoryRef,
    number: number,
    found: IssueReply,
    signal?: AbortSignal,
  ): Promise<void> {
    const home = found.repository_url?.split('/').slice(-2).join('/').toLowerCase();
    if (found.number === number && home === nameOf(ref).toLowerCase()) return;
    const canonical = await this.repository(ref, signal);
    if (found.number === number && home === nameOf(canonical).toLowerCase()) return;
    throw new NotFound(
      'issue_not_found',
      `issue ${nameOf(ref, number)} was moved to ${found.html_url} on forge '${this.name}'`,
      { hint: 'plan the issue where it is now' },
    );
  }

  /** A comma would make two labels of one. */
  protected issueQuery({
    state,
    label,
    sort = 'created',
    since,
  }: Omit<IssueFilter, 'limit'> & { since?: string }): Query {
    const labels: Query = label === undefined || label.includes(',') ? {} : { labels: label };
    if (since !== undefined) return { state, since, sort: 'updated', direction: 'asc' };
    return { state, ...labels, sort, direction: 'desc' };
  }

  protected async askReopened(issue: string[], from: string, call: Call): Promise<string | null> {
    const entries = await this.list([...issue, 'events'], call);
    const times = this.decode(IssueEvents, entries, call.what)
      .filter(({ event, created_at }) => event === 'reopened' && Date.parse(created_at) >= Date.parse(from))
      .map(({ created_at }) => created_at);
    return times.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
  }

  protected async askProtection(repository: Repository, branch: string, call: Call): Promise<Protection> {
    const existing = await this.unlessAbsent(
      this.client.get([...pathOf(repository), 'branches', branch], call),
    );
    const found = existing === null ? null : this.decode(Branch, existing, call.what);
    const rules = await this.#rules(repository, branch, call);
    const closing = closingRules(rules, branch);
    // Without a protection of its own, rulesets alone protect it, and each rule of them is judged.
    const isClosed = found?.protected === true && (found.protection?.enabled !== false || rules.length === 0);
    const reason = isClosed ? `protected on ${this.name}` : closing.join(', ');
    const all = [...rules, ...classicRules(found, branch)];
    return { protected: reason !== '', reason, rules: all, unread: null };
  }

  /** Rules also hold for branches that do not exist yet. Older Enterprise servers have none, nor have private repositories of free accounts. */
  async #rules(repository: Repository, branch: string, call: Call): Promise<BranchRule[]> {
    const path = [...pathOf(repository), 'rules', 'branches', branch];
    const listed = await this.list(path, call).catch((error) => {
      if (error instanceof NotFound) return [];
      if (error instanceof Unauthorized && /\bupgrade to github\b/i.test(error.message)) return [];
      throw error;
    });
    const entries = this.decode(t.array(RuleReply), listed, call.what);
    const ids = [...new Set(entries.flatMap(({ ruleset_id }) => ruleset_id ?? []))];
    const rulesets = new Map<number, RulesetReply>();
    for (const id of ids) {
      const what = `ruleset ${id} of ${nameOf(repository)}`;
      const answer = this.client.get([...pathOf(repository), 'rulesets', String(id)], { ...call, what });
      const data = await this.unlessHidden(answer);
      if (data !== null) rulesets.set(id, this.decode(RulesetReply, data, what));
    }
    return entries.flatMap((entry) => ruleOf(entry, rulesets.get(entry.ruleset_id ?? -1) ?? null) ?? []);
  }

  protected pullQuery({ owner }: Repository, branch: string): Query {
    return { state: 'all', head: `${owner}:${branch}` };
  }

  protected headOf({ head }: PullRequestReply): string {
    return head.ref;
  }

  /** GitHub forgets the repository of a head that was deleted. */
  protected isOwnBranch(repository: Repository, { head }: PullRequestReply): boolean {
    const own = nameOf(repository).toLowerCase();
    return (head.repo?.full_name.toLowerCase() ?? own) === own;
  }

  /** Checks and statuses are two kinds of one thing. A token without the right to see them sees none. */
  protected async askChecks(commit: string[], call: Call): Promise<Check[]> {
    const ask = (kind: string, page: number) =>
      this.unlessHidden(this.client.get([...commit, kind], call, { ...this.client.pageSize, page }));
    const runs: CheckRun[] = [];
    for (const page of pagesOf(this.name, call.what)) {
      const data = await ask('check-runs', page);
      if (data === null) break;
      const { total_count, check_runs } = this.decode(CheckRuns, data, call.what);
      runs.push(...check_runs);
      if (check_runs.length === 0 || runs.length >= total_count) break;
    }
    const checks = runs.map(checkOf);
    for (const page of pagesOf(this.name, call.what)) {
      const data = (await ask('status', page)) ?? { statuses: [] };
      const found = statusChecks(this.decode(CombinedStatusReply, data, call.what));
      checks.push(...found);
      if (found.length < this.client.pageSize.per_page) break;
    }
    return checks;
  }

  /** The token of an app may not ask who it is: then the account of the settings is looked up. */
  protected override async user(signal?: AbortSignal): Promise<RemoteReply> {
    const { account } = this.options;
    try {
      return await super.user(signal);
    } catch (error) {
      if (account === null || !(error instanceof Unauthorized) || error.facts.status !== 403) throw error;
      return this.client.get(['users', account], { what: 'our own account', signal });
    }
  }

  /** Only classic tokens show their scopes. */
  async examine(answerMs: number): Promise<ForgeFacts> {
    const sent = Date.now();
    const { data, header } = await this.user(AbortSignal.timeout(answerMs));
    const { login } = this.decode(AccountReply, data, 'our own account');
    this.account.check({ login });
    const scopes = header('x-oauth-scopes')?.split(/,\s*/).filter(Boolean) ?? [];
    const needed_by =
      'plan-issue in private repositories and execute-approved, which pushes and opens pull requests';
    const enough = scopes.length === 0 || scopes.includes('repo') || scopes.includes('public_repo');
    return {
      account: login,
      scopes: scopes.length === 0 ? null : scopes,
      lacking: enough ? [] : [{ scope: 'repo', needed_by }],
      unanswered: [],
      clock_ahead_s: clockAhead(header('date'), sent, Date.now()),
    };
  }

  /** GitHub gives who was invited, and members of the organisation, but not their permission to write: that is asked. */
  protected async author(
    ref: RepositoryRef,
    { user, author_association = '' }: Authored,
    signal: AbortSignal | undefined,
  ): Promise<Author> {
    // A deleted account is nobody, and GitHub calls it ghost.
    if (user === null) return { login: 'ghost', association: 'none', bot: false };
    const { login } = user;
    const association = associations[author_association] ?? 'none';
    const asked = association === 'member' || association === 'collaborator';
    const standing = asked
      ? await this.#standings.of(ref, login, () => this.#standing(ref, login, association, signal))
      : { association };
    return { id: String(user.id), login, ...standing, bot: user.type === 'Bot' };
  }

  async #standing(
    ref: RepositoryRef,
    login: string,
    association: Association,
    signal: AbortSignal | undefined,
  ): Promise<Standing> {
    const { right, reason } = await this.right(ref, login, signal);
    if (right === null) return standingUnknown(reason);
    return right === 'write' ? { association } : outsider;
  }

  /** 410 is what GitHub answers for a deleted issue. */
  protected override isGone(error: unknown): boolean {
    return super.isGone(error) || (error instanceof Refused && error.facts.status === 410);
  }
}

/** Conclusions other than these speak against the commit. */
const good: readonly string[] = ['success', 'neutral', 'skipped'];

function checkOf({ name, status, conclusion }: CheckRun): Check {
  if (status !== 'completed' || conclusion === null) return { name, state: 'pending' };
  return { name, state: good.includes(conclusion) ? 'passed' : 'failed' };
}
