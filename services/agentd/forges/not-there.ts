import { NotFound, Refused } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import { nameOf } from './names.ts';

/** Errors that every forge reports in the same words. */

export function noRepository(forge: string, ref: RepositoryRef, cause?: unknown): NotFound {
  const { repository_id: id } = ref;
  if (id !== undefined) {
    return new NotFound(
      'repository_not_found',
      `forge '${forge}' no longer has the repository with id ${id}, which was ${nameOf(ref)}, or does not show it to us`,
      {
        cause,
        facts: { forge, ...named(ref), repository_id: id },
        hint: `A repository that is called ${nameOf(ref)} now is another one. Plan its issues anew.`,
      },
    );
  }
  const message = `forge '${forge}' has no repository ${nameOf(ref)}, or does not show it to us`;
  return absent('repository_not_found', message, { forge, ...named(ref) }, cause);
}

export function noIssue(
  forge: string,
  ref: RepositoryRef,
  number: number,
  cause?: unknown,
  hint = `check the number; ${forge} lists the issues of ${nameOf(ref)}`,
): NotFound {
  const message = `forge '${forge}' has no issue ${nameOf(ref, number)}`;
  return new NotFound('issue_not_found', message, { cause, facts: { forge, ...named(ref), number }, hint });
}

/** Core itself lists the issues of its own forge. */
export function noLocalIssue(forge: string, ref: RepositoryRef, number: number): NotFound {
  const list = `./core forge issue list --owner ${shellWord(ref.owner)} --repo ${shellWord(ref.repo)}`;
  return noIssue(forge, ref, number, undefined, `list its issues:\n${list}`);
}

export function noPullRequest(forge: string, ref: RepositoryRef, number: number, cause?: unknown): NotFound {
  const message = `forge '${forge}' has no pull request ${nameOf(ref, number)}`;
  return absent('pull_request_not_found', message, { forge, ...named(ref), number }, cause);
}

export function noComment(
  forge: string,
  ref: RepositoryRef,
  number: number,
  id: string,
  cause?: unknown,
): NotFound {
  const message = `forge '${forge}' has no comment ${id} on ${nameOf(ref, number)}`;
  return absent('comment_not_found', message, { forge, ...named(ref), number, id }, cause);
}

function absent(code: string, message: string, facts: Record<string, unknown>, cause: unknown): NotFound {
  return new NotFound(code, message, { cause, facts });
}

function named({ owner, repo }: RepositoryRef): RepositoryRef {
  return { owner, repo };
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
    `pull request ${nameOf(ref, number)} is merged; a merged pull request cannot be closed`,
  );
}

/** Runs `action`; a NotFound is replaced by the error that `replacement` makes of it. */
export async function orAbsent<A>(action: Promise<A>, replacement: (cause: NotFound) => Error): Promise<A> {
  try {
    return await action;
  } catch (error) {
    throw error instanceof NotFound ? replacement(error) : error;
  }
}
