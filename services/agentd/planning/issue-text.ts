import * as t from 'io-ts';
import { nullable, optional } from '#kit/decode.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Comment, Issue } from '../ports/forge.ts';

const Person = t.strict({
  login: t.string,
  association: t.keyof({ owner: null, member: null, collaborator: null, contributor: null, none: null }),
  bot: t.boolean,
  unknown: optional(t.string),
});

/** The artifact that holds issue and comments as they were read, secrets masked. */
export const StoredIssue = t.strict({
  issue: t.strict({
    number: t.number,
    title: t.string,
    body: t.string,
    state: t.keyof({ open: null, closed: null }),
    locked: t.boolean,
    author: Person,
    labels: t.array(t.string),
    created_at: t.string,
    updated_at: t.string,
    html_url: nullable(t.string),
  }),
  comments: t.array(
    t.strict({
      id: t.string,
      body: t.string,
      author: Person,
      created_at: t.string,
      html_url: nullable(t.string),
    }),
  ),
  /** How many of these texts held secrets that were masked. */
  masked: t.number,
});

export interface IssueText {
  readonly issue: Issue;
  readonly comments: readonly Comment[];
}

/** The texts without secrets, from which alone anything is made; and how many of them held one. */
export function maskedIssue(
  { issue, comments }: IssueText,
  tally: MaskTally,
): IssueText & { readonly masked: number } {
  const clean: IssueText = {
    issue: tally.maskDeep(issue, issuePlace),
    comments: comments.map((comment) => tally.maskDeep(comment, commentPlace(comment))),
  };
  const read = [issue, ...comments];
  const masked = [clean.issue, ...clean.comments].filter(
    (text, index) => JSON.stringify(text) !== JSON.stringify(read[index]),
  );
  return { ...clean, masked: masked.length };
}

/** Where a masked secret stood, for people. */
export const issuePlace = 'the issue’s text';

export function commentPlace({ id, author }: Pick<Comment, 'id' | 'author'>): string {
  return `comment ${id} by ${author.login}`;
}
