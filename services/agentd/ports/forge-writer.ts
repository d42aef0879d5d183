import type { Comment, PullRequest, RepositoryRef } from './forge.ts';

/**
 * What approved actions may change on a forge. Nothing here is ever retried by itself: after a TimedOut or Unavailable
 * error the outcome is unknown, and the executor asks the forge before it tries again. Refusals by the forge (locked issue,
 * missing right, validation) are `Refused` with the forge's own words.
 *
 * Branches are removed through git (`Vcs.unpublish`), which compares and deletes in one step; no forge's API can.
 */
export interface ForgeWriter {
  openPullRequest(
    ref: RepositoryRef,
    request: { title: string; body: string; head: string; base: string },
    signal?: AbortSignal,
  ): Promise<PullRequest>;
  closePullRequest(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<void>;
  comment(ref: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<Comment>;
  deleteComment(ref: RepositoryRef, number: number, id: string, signal?: AbortSignal): Promise<void>;
}
