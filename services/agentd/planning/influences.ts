import type { Influence } from '../action.ts';
import type { Author, Comment, RepositoryRef } from '../ports/forge.ts';
import { commentPlace, type IssueText, type PlannedIssue } from './issue-text.ts';
import type { JudgedPassage } from './passage.ts';
import type { PlanningNote, Rejection } from './planner.ts';

/** Only people who may write to the repository anyway are trusted; a contributor once had a change merged, no more. */
function isTrusted(author: Author): boolean {
  return isTrustedAssociation(author.association);
}

export function isTrustedAssociation(association: string): boolean {
  return ['owner', 'member', 'collaborator'].includes(association);
}

/** Each reason once for which authors count as outsiders although nobody said that they are. */
export function unknownStandings({ issue, comments }: IssueText): string[] {
  const reasons = [issue.author, ...comments.map(({ author }) => author)].flatMap(
    ({ unknown }) => unknown ?? [],
  );
  return [...new Set(reasons)].map((reason) => `${reason}; counted as an outsider`);
}

export function issueInfluence({ owner, repo }: RepositoryRef, issue: PlannedIssue): Influence {
  return {
    kind: 'issue',
    source: issue.number === null ? `the task for ${owner}/${repo}` : `${owner}/${repo}#${issue.number}`,
    author: issue.author.login,
    trusted: isTrusted(issue.author),
  };
}

export function commentInfluence(comment: Comment): Influence {
  return {
    kind: 'comment',
    source: commentPlace(comment),
    author: comment.author.login,
    trusted: isTrusted(comment.author),
  };
}

export function noteInfluence({ by, text, trusted }: PlanningNote): Influence {
  return { kind: 'note', source: `note of ${by}: ${shortened(text, 300)}`, author: by, trusted };
}

/** People's decisions, each once with its reason; one may be about several actions. */
export function rejectionInfluences(rejections: readonly Omit<Rejection, 'run_id'>[]): Influence[] {
  const decisions = Map.groupBy(rejections, ({ at, by, reason }) => JSON.stringify([at, by, reason]));
  return [...decisions.values()].map((together) => {
    const { at, by, reason } = together[0]!;
    const kinds = together.map(({ action }) => action).join(', ');
    return {
      kind: 'rejection',
      source: `${kinds} by ${by} ${at}: ${shortened(reason, 300)}`,
      author: by,
      trusted: true,
    };
  });
}

export function passageInfluence(passage: JudgedPassage): Influence {
  const { layer, kind, path, id, title, trusted } = passage;
  if (path !== null) return { kind: 'file', source: path, author: null, trusted };
  const of = layer === 'graph' && kind === 'issue' ? 'issue' : 'memory';
  const name = shortened(title, 80);
  return { kind: of, source: name === '' ? id : `${id} (${name})`, author: null, trusted };
}

function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1).toWellFormed()}…` : text;
}

/** The issue and its comments. */
export function textInfluences({
  repository,
  issue,
  comments,
}: {
  readonly repository: RepositoryRef;
  readonly issue: PlannedIssue;
  readonly comments: readonly Comment[];
}): Influence[] {
  return [issueInfluence(repository, issue), ...comments.map(commentInfluence)];
}
