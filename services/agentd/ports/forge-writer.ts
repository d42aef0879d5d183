import type { Permit } from '#kit/permit.ts';
import type { Comment, PullRequest, RepositoryRef } from './forge.ts';

/**
 * What approved actions may change on a forge. Nothing here is ever retried by itself: after a TimedOut or Unavailable
 * error the outcome is unknown, and the executor asks the forge before it tries again. Refusals by the forge (locked issue,
 * missing right, validation, a pull request of these branches that is open) are `Refused` with the forge's own words. A permit is
 * required right before the request leaves.
 *
 * Branches are removed through git (`Vcs.unpublish`), which compares and deletes in one step; no forge's API can.
 */
export interface ForgeWriter {
  openPullRequest(
    ref: RepositoryRef,
    request: { title: string; body: string; head: string; base: string },
    permit?: Permit,
  ): Promise<PullRequest>;
  closePullRequest(ref: RepositoryRef, number: number, permit?: Permit): Promise<void>;
  comment(ref: RepositoryRef, number: number, body: string, permit?: Permit): Promise<Comment>;
  deleteComment(ref: RepositoryRef, number: number, id: string, permit?: Permit): Promise<void>;
}
