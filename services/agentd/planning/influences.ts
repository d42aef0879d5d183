import type { Influence } from '../action.ts';
import type { Author, Comment, Issue, RepositoryRef } from './forge.ts';

/** Only people who may write to the repository anyway are trusted; a contributor once had a change merged, no more. */
export function isTrusted(author: Author): boolean {
  return ['owner', 'member', 'collaborator'].includes(author.association);
}

export function issueInfluence({ owner, repo }: RepositoryRef, issue: Issue): Influence {
  return {
    kind: 'issue',
    source: `${owner}/${repo}#${issue.number}`,
    author: issue.author.login,
    trusted: isTrusted(issue.author),
  };
}

export function commentInfluence(comment: Comment): Influence {
  return {
    kind: 'comment',
    source: `comment ${comment.id} by ${comment.author.login}`,
    author: comment.author.login,
    trusted: isTrusted(comment.author),
  };
}
