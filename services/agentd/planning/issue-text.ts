import * as t from 'io-ts';
import { decodeJson, nullable, optional } from '#kit/decode.ts';
import { NotFound } from '#kit/errors.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Comment, Forge, Issue, RepositoryRef } from '../ports/forge.ts';
import type { RunStore } from '../runs/run-store.ts';

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

interface Ports {
  readonly store: Pick<RunStore, 'read' | 'artifact'>;
  readonly forge: Pick<Forge, 'comments' | 'self'>;
}

type StoredCopy = ReturnType<(typeof StoredIssue)['encode']>;

type Said = Pick<Comment, 'id' | 'body'> & { readonly author: { readonly login: string } };

/**
 * True if an issue is as a run read it: title, text, state, labels, and the comments of everybody but Core itself.
 * It counts as changed where the copy is gone or has secrets masked in it.
 */
export async function isUnchanged(
  { store, forge }: Ports,
  ref: RepositoryRef,
  issue: Pick<Issue, 'number' | 'title' | 'body' | 'state' | 'labels'>,
  runId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = await storedIssue(store, runId);
  if (stored === null || stored.masked > 0 || textOf(stored.issue) !== textOf(issue)) return false;
  const [comments, self] = await Promise.all([
    forge.comments(ref, issue.number, {}, signal),
    forge.self(signal),
  ]);
  return othersWords(stored.comments, self.login) === othersWords(comments, self.login);
}

async function storedIssue(store: Ports['store'], runId: string): Promise<StoredCopy | null> {
  try {
    const { source } = await store.read(runId);
    if (source === null) return null;
    const bytes = await store.artifact(runId, source.issue.content);
    return decodeJson(StoredIssue, Buffer.from(bytes).toString('utf8'), 'stored issue');
  } catch (error) {
    // Runs are pruned, while the list of them still names it.
    if (error instanceof NotFound) return null;
    throw error;
  }
}

function textOf({ title, body, state, labels }: Pick<Issue, 'title' | 'body' | 'state' | 'labels'>): string {
  return JSON.stringify([title, body, state, [...labels].sort()]);
}

function othersWords(comments: readonly Said[], self: string): string {
  const words = comments.filter(({ author }) => author.login !== self).map(({ id, body }) => [id, body]);
  return JSON.stringify(words);
}
