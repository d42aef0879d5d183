import { InvalidInput } from '#kit/errors.ts';
import { cutText } from '#kit/redaction/cut-text.ts';
import { isBranchName } from '../git/branch-name.ts';
import type { RepositoryRef } from '../ports/forge.ts';

const largestNumber = 2 ** 31 - 1;

/** Guards the names that become parts of a path or a URL. Every adapter asks before it does anything with them. */
export function checkRepositoryRef({ owner, repo, repository_id: id }: RepositoryRef): void {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/.test(owner)) {
    throw new InvalidInput(
      'invalid_owner_name',
      `owner '${shown(owner)}' is not an owner name: letters, digits, '-', '_' and '.' are allowed; for example koajs`,
    );
  }
  if (!/^[A-Za-z0-9_.-]{1,100}$/.test(repo) || /^(\.{1,2}|-.*)$|\.(git|lock)$/i.test(repo)) {
    throw new InvalidInput(
      'invalid_repository_name',
      `repo '${shown(repo)}' is not a repository name: letters, digits, '-', '_' and '.' are allowed, not '.git' at the end; for example koa`,
    );
  }
  if (id !== undefined && !/^[A-Za-z0-9-]{1,64}$/.test(id)) {
    throw new InvalidInput(
      'invalid_repository_id',
      `'${shown(id)}' is not the id of a repository: at most 64 letters, digits and '-' are allowed`,
    );
  }
}

export function checkNumber(number: number): void {
  if (Number.isInteger(number) && number >= 1 && number <= largestNumber) return;
  throw new InvalidInput(
    'invalid_issue_number',
    `number ${number} is not an issue number: it must be a whole number from 1 to ${largestNumber}`,
  );
}

/** What git allows, and not longer than forges take. */
export function checkBranch(branch: string): void {
  if (isBranchName(branch) && Buffer.byteLength(branch) <= 244) return;
  throw new InvalidInput(
    'invalid_branch_name',
    `branch '${shown(branch)}' is not a branch name that git allows; for example core/1-greeting`,
  );
}

export function checkCommentId(id: string): void {
  if (/^[0-9]{1,19}$/.test(id)) return;
  throw new InvalidInput(
    'invalid_comment_id',
    `comment '${shown(id)}' is not a comment id: it must be digits`,
  );
}

export function nameOf(ref: RepositoryRef, number?: number): string {
  return number === undefined ? `${ref.owner}/${ref.repo}` : `${ref.owner}/${ref.repo}#${number}`;
}

function shown(text: string): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}');
  return cutText(visible, 80);
}
