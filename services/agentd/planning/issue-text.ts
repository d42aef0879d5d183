import { NotFound } from '#kit/errors.ts';
import type { MaskedSecret, MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Comment, Forge, Issue, RepositoryRef } from '../ports/forge.ts';
import type { RunStore } from '../runs/run-store.ts';

/** What is to be done: an issue, or a task, which is of none and has no number. */
export type PlannedIssue = Omit<Issue, 'number'> & { readonly number: number | null };

export interface IssueText {
  readonly issue: PlannedIssue;
  readonly comments: readonly Comment[];
}

/** The artifact that holds issue and comments as they were read, secrets masked. */
export interface StoredIssue extends IssueText {
  /** How many of these texts held secrets. */
  readonly masked: number;
}

/** @param digest of the artifact @throws NotFound (`artifact_not_found`), Failed (`artifact_damaged`) */
export async function storedIssue(
  store: Pick<RunStore, 'artifact'>,
  runId: string,
  digest: string,
): Promise<StoredIssue> {
  return JSON.parse(Buffer.from(await store.artifact(runId, digest)).toString('utf8')) as StoredIssue;
}

/** Issue and comments as they are stored; what their forge masked in them goes to the tally. */
export function tallied({ issue, comments }: IssueText, tally: MaskTally): StoredIssue {
  const texts = [issue, ...comments];
  tally.add(hiddenIn(issue, issuePlace));
  for (const comment of comments) tally.add(hiddenIn(comment, tally.mask(commentPlace(comment))));
  return {
    issue: withoutHidden(issue),
    comments: comments.map(withoutHidden),
    masked: texts.filter(({ masked = [] }) => masked.length > 0).length,
  };
}

function hiddenIn({ masked = [] }: Pick<Issue, 'masked'>, place: string): MaskedSecret[] {
  return masked.map((secret) => ({ ...secret, place }));
}

function withoutHidden<T extends Pick<Issue, 'masked'>>({ masked: _, ...text }: T): Omit<T, 'masked'> {
  return text;
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
  const stored = await issueOfRun(store, runId);
  if (stored === null || stored.masked > 0 || textOf(stored.issue) !== textOf(issue)) return false;
  const [comments, self] = await Promise.all([
    forge.comments(ref, issue.number, {}, signal),
    forge.self(signal),
  ]);
  return othersWords(stored.comments, self.login) === othersWords(comments, self.login);
}

async function issueOfRun(store: Ports['store'], runId: string): Promise<StoredIssue | null> {
  try {
    const { source } = await store.read(runId);
    return source === null ? null : await storedIssue(store, runId, source.issue.content);
  } catch (error) {
    // Runs are pruned, while the list of them still names it.
    if (error instanceof NotFound) return null;
    throw error;
  }
}

function textOf({ title, body, state, labels }: Pick<Issue, 'title' | 'body' | 'state' | 'labels'>): string {
  return JSON.stringify([title, body, state, [...labels].sort()]);
}

function othersWords(comments: readonly Comment[], self: string): string {
  const words = comments.filter(({ author }) => author.login !== self).map(({ id, body }) => [id, body]);
  return JSON.stringify(words);
}
