import { git } from '#kit/git/git.ts';
import { readChanges } from './change-log.ts';
import type { LearnChanges } from './history-commands.ts';

/** What learning needs of the record, whatever thread it runs in. */
export interface HistoryAccess {
  ask(query: 'learnedCommit', input: { readonly repository: string }): Promise<string | null>;
  write(command: 'learnChanges', input: LearnChanges): Promise<void>;
}

const batch = 100;

/**
 * Brings what search knows of a repository's history up to a commit: what its commits say and which files they touch. Learns what
 * is new alone, where the commit has the one known before among its ancestors. Cut off at any moment, the next call completes it.
 * @param most commits that are read; 0 reads none
 */
export async function learnHistory(
  access: HistoryAccess,
  { repository, gitDir, commit, most }: { repository: string; gitDir: string; commit: string; most: number },
): Promise<void> {
  const known = await access.ask('learnedCommit', { repository });
  if (known === commit || most === 0) return;
  const since = known !== null && (await isAncestor(gitDir, known, commit)) ? known : null;
  const changes = await readChanges(gitDir, commit, since, most);
  for (let at = 0; at === 0 || at < changes.length; at += batch) {
    const isLast = at + batch >= changes.length;
    await access.write('learnChanges', {
      repository,
      changes: changes.slice(at, at + batch),
      anew: at === 0 && since === null,
      upTo: isLast ? commit : null,
    });
  }
}

async function isAncestor(gitDir: string, older: string, newer: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', older, newer];
  return (await git(args, { gitDir, accept: [1, 128] })).exitCode === 0;
}
