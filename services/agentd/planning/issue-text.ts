import * as t from 'io-ts';
import { nullable } from '#kit/decode.ts';
import type { Comment, Issue } from './forge.ts';

const Person = t.strict({
  login: t.string,
  association: t.keyof({ owner: null, member: null, collaborator: null, contributor: null, none: null }),
  bot: t.boolean,
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
  /** How many secrets were masked in this copy. */
  masked: t.number,
});

export interface IssueText {
  readonly issue: Issue;
  readonly comments: readonly Comment[];
}

/** The issue without secrets in its title and labels, which name branches, commits and pull requests. */
export function withoutSecretNames(issue: Issue, mask: (text: string) => string): Issue {
  return { ...issue, title: mask(issue.title), labels: issue.labels.map(mask) };
}

/** A copy without secrets, and how many there were. */
export function maskSecrets(
  text: IssueText,
  mask: (text: string) => string,
): IssueText & { readonly masked: number } {
  let masked = 0;
  const clean = (value: string) => {
    const result = mask(value);
    if (result !== value) masked++;
    return result;
  };
  return {
    issue: { ...text.issue, title: clean(text.issue.title), body: clean(text.issue.body) },
    comments: text.comments.map((comment) => ({ ...comment, body: clean(comment.body) })),
    masked,
  };
}
