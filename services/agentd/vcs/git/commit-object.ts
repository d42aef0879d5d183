import { createHash } from 'node:crypto';
import { gitText } from '#kit/git/git.ts';
import type { Author } from '../../action.ts';
import { storedMessage } from '../clone-state.ts';

export interface NewCommit {
  readonly tree: string;
  readonly parent: string;
  readonly change_id: string;
  readonly author: Author;
  /** RFC 3339. */
  readonly at: string;
  readonly message: string;
}

/** Stores a commit that carries its change id where jj reads it; the same input makes the same commit. */
export function writeCommit(gitDir: string, commit: NewCommit): Promise<string> {
  const seconds = Math.floor(Date.parse(commit.at) / 1000);
  const person = `${plain(commit.author.name) || 'Core'} <${plain(commit.author.email)}> ${seconds} +0000`;
  const lines = [
    `tree ${commit.tree}`,
    `parent ${commit.parent}`,
    `author ${person}`,
    `committer ${person}`,
    `change-id ${commit.change_id}`,
    '',
    storedMessage(commit.message).replaceAll('\0', ''),
  ];
  return gitText(['hash-object', '-t', 'commit', '-w', '--stdin'], { gitDir, input: lines.join('\n') });
}

/** jj's form of a change id: 16 bytes as hex, with `z` to `k` for `0` to `f`. One run has one change. */
export function changeIdOf(runId: string): string {
  const hex = createHash('sha256').update(`change of ${runId}`).digest('hex').slice(0, 32);
  return hex.replace(/[0-9a-f]/g, (digit) => 'zyxwvutsrqponmlk'[Number.parseInt(digit, 16)]!);
}

function plain(text: string): string {
  return text.replace(/[\0-\x1f<>]/g, ' ').trim();
}
