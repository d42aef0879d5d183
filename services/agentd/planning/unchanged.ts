import { decodeJson } from '#kit/decode.ts';
import { NotFound } from '#kit/errors.ts';
import type { Comment, Forge, Issue, RepositoryRef } from '../ports/forge.ts';
import type { RunStore } from '../runs/run-store.ts';
import { StoredIssue } from './issue-text.ts';

interface Ports {
  readonly store: Pick<RunStore, 'read' | 'artifact'>;
  readonly forge: Pick<Forge, 'comments' | 'self'>;
}

type StoredCopy = ReturnType<(typeof StoredIssue)['encode']>;

type Said = Pick<Comment, 'id' | 'body'> & { readonly author: { readonly login: string } };

/**
 * Whether an issue says what it said when a run read it: title, text, state, labels, and the comments of everybody but Core itself.
 * Where nobody can tell, because the copy is gone or has secrets masked in it, it counts as changed.
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
