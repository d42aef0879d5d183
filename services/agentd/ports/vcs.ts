import type { GitCredential } from '#kit/git/git-environment.ts';
import type { Author } from '../action.ts';

/** The clone in which one run builds its change. */
export interface Workspace {
  readonly run_id: string;
  /** `<state>/clones/<run_id>`; may not exist yet. */
  readonly clone_dir: string;
  /** Our bare mirror; holds the base commit and the objects of the approved tree. */
  readonly mirror_dir: string;
  readonly base_commit: string;
  readonly base_branch: string;
  readonly push_url: string;
}

/** Ids as the tool gives them; an operation id means something to the adapter that made it, alone. */
export interface VcsState {
  readonly operation_id: string;
  readonly change_id: string | null;
  /** The commit being built, to which the branch of the clone points; null before `create_branch`. */
  readonly commit: string | null;
  readonly tree: string | null;
}

export type BuildStep =
  /** New change on the base, bookmark or branch on it. `message` is a first description. */
  | {
      readonly kind: 'create_branch';
      readonly branch: string;
      readonly message: string;
      readonly author: Author;
      readonly at: string;
    }
  /** Makes the change exactly `tree`, whose objects are in the mirror. */
  | {
      readonly kind: 'apply_patch';
      readonly branch: string;
      readonly tree: string;
      readonly author: Author;
      readonly at: string;
    }
  /** Describes the change (the commit), exports to git. The commit's tree must be `tree`. */
  | {
      readonly kind: 'commit';
      readonly branch: string;
      readonly tree: string;
      readonly message: string;
      readonly author: Author;
      readonly at: string;
    };

export interface Publication {
  readonly branch: string;
  readonly commit: string;
  /** What the remote branch must be for the push to go through: null = it must not exist. */
  readonly expected: string | null;
  readonly credential: GitCredential | null;
}

export type PublishOutcome =
  | { readonly result: 'done' }
  /** The remote branch is not what was expected. */
  | { readonly result: 'moved'; readonly actual: string | null; readonly message: string }
  /** The remote said no: a hook, a protection, missing rights. */
  | { readonly result: 'rejected'; readonly message: string };

/**
 * Recoverable version control, in a clone of our own. Every method can be called again after a crash; a method that
 * returns has verified ids and refs, never trusted an exit status alone. `at` (RFC 3339) is the author's and committer's time, so
 * that doing a step again makes the same commit.
 *
 * Errors: Failed (`vcs_failed`, with the tool's own words), Unavailable (`remote_unavailable`), Conflict (`branch_exists`,
 * `tree_differs`).
 */
export interface Vcs {
  readonly kind: 'jj' | 'git';
  /** `tested` is false for a version other than the one that we test with; `warning` says so to people. */
  version(): Promise<{ version: string; tested: boolean; warning: string | null }>;
  /** Makes the clone when it is missing or half made, clears what a crash left (locks, stale working copies). */
  open(workspace: Workspace): Promise<VcsState>;
  build(workspace: Workspace, step: BuildStep): Promise<VcsState>;
  inspect(workspace: Workspace, branch: string | null): Promise<VcsState>;
  restore(workspace: Workspace, operationId: string): Promise<VcsState>;
  publish(workspace: Workspace, publication: Publication, signal?: AbortSignal): Promise<PublishOutcome>;
  /** Deletes the remote branch if, and only if, it is at `publication.commit`. */
  unpublish(workspace: Workspace, publication: Publication, signal?: AbortSignal): Promise<PublishOutcome>;
}
