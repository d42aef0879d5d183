import type { SettingFlags, SettingRow } from '#kit/config/settings.ts';
import type { Agent, Person } from '../agent.ts';
import type { Stream } from './terminal.ts';

/** What the composition root hands to the command line. Each thing is opened when it is first asked for. */
export interface Services {
  agent(): Promise<Agent>;
  /** Who types: the name and scopes of the token of this account. */
  person(): Promise<Person>;
  /** Where every setting comes from. */
  settings(): Promise<readonly SettingRow[]>;
  /** Days for which an approval holds. */
  approvalDays(): Promise<number>;
  /** How each configured forge stands: asks each. */
  forges(): Promise<readonly ForgeReport[]>;
  localForge(): Promise<LocalForgeAdmin>;
  /**
   * Runs the daemon until a signal comes or the process that started it is gone; gives the exit code. With `check` only its
   * configuration is read.
   */
  serve(options: SettingFlags & { readonly check?: boolean }): Promise<number>;
  close(): Promise<void>;
}

/** How one configured forge stands, as `core-agentd --json forges` gives it. */
export interface ForgeReport {
  readonly forge: string;
  readonly kind: string;
  readonly url: string;
  readonly state: 'works' | 'limited' | 'unused' | 'silent' | 'unreachable' | 'refused';
  /** For people, one line. */
  readonly detail: string;
  readonly fix: string | null;
}

/** What a person does on the local forge by hand. */
export interface LocalForgeAdmin {
  init(request: { readonly owner: string; readonly repo: string; readonly from: string | null }): Promise<{
    readonly clone_url: string;
    readonly default_branch: string;
    readonly folder: string;
  }>;
  newIssue(request: {
    readonly owner: string;
    readonly repo: string;
    readonly title: string;
    readonly body: string;
    readonly author: string;
    readonly association: string;
  }): Promise<ForgeIssue>;
  listIssues(ref: Ref, state: 'open' | 'closed' | 'all'): Promise<readonly ForgeIssue[]>;
  comment(
    request: Ref & {
      readonly number: number;
      readonly body: string;
      readonly author: string;
      readonly association: string;
    },
  ): Promise<{ readonly id: string }>;
  listPullRequests(ref: Ref, state: 'open' | 'closed' | 'all'): Promise<readonly ForgePullRequest[]>;
  pullRequest(
    ref: Ref,
    number: number,
  ): Promise<{ readonly pull: ForgePullRequest; readonly patch: Uint8Array }>;
  mergePullRequest(ref: Ref, number: number): Promise<{ readonly commit: string; readonly into: string }>;
}

export interface Ref {
  readonly owner: string;
  readonly repo: string;
}

export interface ForgeIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: string;
  readonly author: { readonly login: string; readonly association: string };
  readonly created_at: string;
}

export interface ForgePullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: string;
  readonly head: string;
  readonly head_commit: string | null;
  readonly base: string;
  readonly author: { readonly login: string };
  readonly created_at: string;
}

/** How a command line is started: by `./core`, by `core-agentd`, or by a test. */
export interface CommandLineOptions {
  /** Arguments after the program's name. */
  readonly args: readonly string[];
  /** How people call this program, for the commands that are suggested. */
  readonly program: string;
  readonly version: string;
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Opens the services for a `--home`. */
  readonly open: (options: { readonly home: string | undefined; readonly verbose: boolean }) => Services;
}
