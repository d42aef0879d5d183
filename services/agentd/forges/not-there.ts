import { NotFound, Refused } from '#kit/errors.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import { nameOf } from './names.ts';

/** What every forge says in the same words. */

export function noRepository(forge: string, ref: RepositoryRef, cause?: unknown): NotFound {
  return new NotFound(
    'repository_not_found',
    `forge '${forge}' has no repository ${nameOf(ref)}, or does not show it to us`,
    { cause, facts: { forge, owner: ref.owner, repo: ref.repo } },
  );
}

export function noIssue(forge: string, ref: RepositoryRef, number: number, cause?: unknown): NotFound {
  return new NotFound('issue_not_found', `forge '${forge}' has no issue ${nameOf(ref, number)}`, {
    cause,
    facts: { forge, owner: ref.owner, repo: ref.repo, number },
  });
}

export function noPullRequest(forge: string, ref: RepositoryRef, number: number, cause?: unknown): NotFound {
  return new NotFound(
    'pull_request_not_found',
    `forge '${forge}' has no pull request ${nameOf(ref, number)}`,
    {
      cause,
      facts: { forge, owner: ref.owner, repo: ref.repo, number },
    },
  );
}

export function noComment(
  forge: string,
  ref: RepositoryRef,
  number: number,
  id: string,
  cause?: unknown,
): NotFound {
  return new NotFound(
    'comment_not_found',
    `forge '${forge}' has no comment ${id} on ${nameOf(ref, number)}`,
    {
      cause,
      facts: { forge, owner: ref.owner, repo: ref.repo, number, id },
    },
  );
}

export function pullRequestInstead(ref: RepositoryRef, number: number): Refused {
  return new Refused(
    'issue_is_pull_request',
    `${nameOf(ref, number)} is a pull request, not an issue; Core plans issues`,
  );
}

export function pullRequestMerged(ref: RepositoryRef, number: number): Refused {
  return new Refused(
    'pull_request_merged',
    `pull request ${nameOf(ref, number)} is merged; what is merged cannot be closed`,
  );
}

/** Runs `action`; what is not there has the error that `absent` says. */
export async function orAbsent<A>(action: Promise<A>, absent: (cause: NotFound) => Error): Promise<A> {
  try {
    return await action;
  } catch (error) {
    throw error instanceof NotFound ? absent(error) : error;
  }
}
