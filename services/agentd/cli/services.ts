import type { SettingFlags, SettingRow } from '#kit/config/settings.ts';
import type { Person } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Notifications } from '../notifications/compose.ts';
import type { AgentAdmin } from '../planners/agent/agent-admin.ts';
import type { Comment, Issue, IssueFilter, PullRequest, RepositoryRef } from '../ports/forge.ts';
import type { ForgeReport } from '../ports/forge-report.ts';

/** What the composition root hands to the command line. Each thing is opened when it is first asked for. */
export interface Services {
  readonly agent: CoreAgent;
  /** Who types: the name and scopes of the token of this account. */
  person(): Promise<Person>;
  /** Where every setting comes from. */
  settings(): Promise<readonly SettingRow[]>;
  /** Days for which an approval holds. */
  approvalDays(): Promise<number>;
  /**
   * The key that decisions are signed with.
   * @throws InvalidInput (`signing_key_missing`)
   */
  signingKey(given: string | undefined): Promise<string>;
  /** How each configured forge stands: asks each. */
  forges(): Promise<readonly ForgeReport[]>;
  localForge(): Promise<LocalForgeAdmin>;
  /** Names a working copy in core.json, for core-agentd to deliver to. @returns the name */
  addCheckout(ref: RepositoryRef, path: string): Promise<string>;
  agents(): Promise<AgentAdmin>;
  notifications(): Promise<Notifications>;
  /**
   * Runs the daemon until a signal comes or the process that started it is gone; gives the exit code. With `check` only its
   * configuration is read.
   */
  serve(options: SettingFlags & { readonly check?: boolean }): Promise<number>;
  close(): Promise<void>;
}

/** What a person does on the local forge by hand. */
export interface LocalForgeAdmin {
  init(request: RepositoryRef & { readonly from: string | null }): Promise<{
    readonly clone_url: string;
    readonly default_branch: string;
    readonly folder: string;
  }>;
  newIssue(request: RepositoryRef & WrittenText & { readonly title: string }): Promise<Issue>;
  listIssues(ref: RepositoryRef, state: IssueFilter['state']): Promise<readonly Issue[]>;
  comment(request: RepositoryRef & WrittenText & { readonly number: number }): Promise<Comment>;
  listPullRequests(ref: RepositoryRef, state: IssueFilter['state']): Promise<readonly PullRequest[]>;
  pullRequest(
    ref: RepositoryRef,
    number: number,
  ): Promise<{ readonly pull: PullRequest; readonly patch: Uint8Array }>;
  mergePullRequest(
    ref: RepositoryRef,
    number: number,
  ): Promise<{ readonly commit: string; readonly into: string }>;
}

interface WrittenText {
  readonly body: string;
  readonly author: string;
  readonly association: string;
}
