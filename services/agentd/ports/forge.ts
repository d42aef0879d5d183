import type { checkStates } from '#kit/contracts/vocabulary.ts';
import type { ForgeKind } from '#kit/forges/registry.ts';
import type { GitCredential } from '#kit/git/git-environment.ts';
import type { BranchRule } from './branch-rules.ts';

/** What planning may ask of a code forge. Reads only: there is no method here that changes anything. */

/**
 * A repository by its name or, with `repository_id`, by its id: then it is that repository under whatever name it has now, and never
 * another one that has its former name.
 */
export interface RepositoryRef {
  readonly owner: string;
  readonly repo: string;
  readonly repository_id?: string | undefined;
}

/** What the account of the token may do with a repository, as far as its forge reports; the scopes of a token may allow less. */
export interface Access {
  /** null where it could not be learned. */
  readonly push: boolean | null;
  /** From a branch of the repository itself; null where it could not be learned. */
  readonly pull_request: boolean | null;
  /** What is missing, or why it could not be learned, for people; empty where both are true. */
  readonly reason: string;
}

export interface Repository extends RepositoryRef {
  /** Canonical names, after a rename was followed. */
  readonly owner: string;
  readonly repo: string;
  /** Stays when the repository is renamed or transferred; no other repository of the forge ever has it. */
  readonly repository_id: string;
  readonly default_branch: string;
  /** Where git fetches from and pushes to. A path for the local forge. */
  readonly clone_url: string;
  readonly push_url: string;
  /** Page for people; null where the forge has none. */
  readonly html_url: string | null;
  readonly archived: boolean;
  readonly access: Access;
  /** The forge's own clock when it answered (RFC 3339), for questions about "since". */
  readonly forge_time: string;
}

/**
 * How the author stands to the repository, by the forge's word; outsiders' text is untrusted. Collaborators are those who
 * may write.
 */
export const associations = ['owner', 'member', 'collaborator', 'contributor', 'none'] as const;
export type Association = (typeof associations)[number];

/** Who acts on a forge. The id stays when the login is changed, and is the login where a forge has no other. */
export interface Account {
  readonly login: string;
  readonly id: string;
}

/** What an account may do in a repository, by the forge's word. */
export interface Right {
  /** Forges without a triage role have no `triage`; null where it could not be learned. */
  readonly right: 'write' | 'triage' | 'none' | null;
  /** Why it could not be learned, for people; otherwise empty. */
  readonly reason: string;
}

export interface Author {
  /** Left out where the forge has no numbers, or the account is gone. */
  readonly id?: string | undefined;
  readonly login: string;
  readonly association: Association;
  /** Why it could not be learned how they stand to the repository; they count as an outsider. */
  readonly unknown?: string | undefined;
  readonly bot: boolean;
}

/** A secret that was masked in a text. */
export interface HiddenSecret {
  readonly kind: string;
  readonly fingerprint: string;
}

export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: 'open' | 'closed';
  readonly locked: boolean;
  readonly author: Author;
  readonly labels: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string | null;
  /** Left out if its texts held no secrets. */
  readonly masked?: readonly HiddenSecret[] | undefined;
}

export interface IssueFilter {
  readonly state: 'open' | 'closed' | 'all';
  /** In any case. */
  readonly label?: string;
  readonly limit: number;
  /** The newest first, by creation or by their last update; default `created`. */
  readonly sort?: 'created' | 'updated';
}

/** An issue that changed, with what webhooks would have said of it. */
export interface ChangedIssue extends Omit<Issue, 'author' | 'locked'> {
  /** Login. Nobody asks here how they stand to the repository: planning does. */
  readonly author: string;
  /** When it was last opened again, by the forge's clock; null where that was before the time that was asked for, or never. */
  readonly reopened_at: string | null;
}

export interface ChangeFilter {
  /** RFC 3339, by the forge's clock; whole seconds count. */
  readonly since: string;
  readonly limit: number;
}

export interface Comment {
  /** The forge's identifier, as a string. */
  readonly id: string;
  readonly body: string;
  readonly author: Author;
  readonly created_at: string;
  readonly html_url: string | null;
  /** Left out if its texts held no secrets. */
  readonly masked?: readonly HiddenSecret[] | undefined;
}

export interface PullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** Branch name without `refs/heads/`. */
  readonly head: string;
  /** null when the head branch is gone and the forge forgot. */
  readonly head_commit: string | null;
  readonly base: string;
  readonly author: Author;
  readonly html_url: string | null;
  readonly created_at: string;
}

/** How the checks of a pull request stand, all of them together. */
export type CheckState = (typeof checkStates)[number];

/** One pull request with what became of it. */
export interface PullRequestOutcome extends PullRequest {
  /** When it was merged or closed, by the forge's clock; null while it is open, or where the forge does not say. */
  readonly ended_at: string | null;
  /** All checks of its head commit together; `none` where none were reported. */
  readonly checks: CheckState;
  readonly failed_checks: readonly string[];
}

export interface Protection {
  readonly protected: boolean;
  /** Why, for people: the rule's name or "default branch". Empty when not protected. */
  readonly reason: string;
  /** All that the forge asks of a push there, or of a merge into it; those that make it protected too. */
  readonly rules: readonly BranchRule[];
  /** Why rules could not be read, for people; null where all were. */
  readonly unread: string | null;
}

/**
 * Errors of every method: NotFound (`repository_not_found`, `issue_not_found`), Refused (`issue_is_pull_request`,
 * `forge_reply_endless`), Unauthorized (`forge_unauthorized`), Unavailable with `retryAfter` (`forge_rate_limited`, `forge_unavailable`), TimedOut
 * (`forge_timeout`), InvalidInput (`forge_reply_invalid` when the reply is not what the API promises).
 */
export interface Forge {
  /** Name in config/forges.json. */
  readonly name: string;
  readonly kind: ForgeKind;
  /** Where it is: its `base_url`, or the folder of a local one. Tokens and effects go nowhere else. */
  readonly url: string;
  /** Milliseconds after which a request without an answer is not under way any more; 0 where none can be. */
  readonly deadline_ms: number;
  repository(ref: RepositoryRef, signal?: AbortSignal): Promise<Repository>;
  issue(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<Issue>;
  /** All comments, oldest first, every page; `since` (RFC 3339) by the forge's clock. */
  comments(
    ref: RepositoryRef,
    number: number,
    options?: { since?: string },
    signal?: AbortSignal,
  ): Promise<Comment[]>;
  listIssues(ref: RepositoryRef, options: IssueFilter, signal?: AbortSignal): Promise<Issue[]>;
  /** Issues of any state that changed at that time or later, comments on them included; the one that changed first comes first. */
  changedIssues(ref: RepositoryRef, filter: ChangeFilter, signal?: AbortSignal): Promise<ChangedIssue[]>;
  /** Of a branch that need not exist. */
  protection(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<Protection>;
  /** Pull requests whose head is `branch`, in every state, by listing (searching lags behind). */
  findPullRequests(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<PullRequest[]>;
  /** @throws NotFound (`pull_request_not_found`) */
  pullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<PullRequestOutcome>;
  right(ref: RepositoryRef, login: string, signal?: AbortSignal): Promise<Right>;
  /** The account that this forge sees us as, by the token as it is now. */
  self(signal?: AbortSignal): Promise<Account>;
  gitCredential(): Promise<GitCredential | null>;
}
