import { inlineCode, oneLine, quotedWords } from '../../actions/published-texts.ts';
import type { PlanningInput } from '../../planning/planner.ts';
import type { Author } from '../../ports/forge.ts';
import type { Candidate } from './candidates.ts';

/** What the patch planner says. None of its texts holds a block that a later planning could take for a patch. */

export interface FailedCandidate {
  readonly candidate: Candidate;
  readonly problems: readonly string[];
}

const maxShown = 3;
const howToGiveAPatch = `A patch can be given in the issue or in a comment, as

- the output of ${inlineCode('git diff')} (with ${inlineCode('--binary')} where files are not text) in a fenced block marked ${inlineCode('diff')}, or
- a fenced block marked ${inlineCode('suggestion')} with the file and line above it, for example ${inlineCode('src/greet.js:12')} or ${inlineCode('src/greet.js#L10-L14')}; its lines replace those.

Several blocks in one comment make one change.`;

export function explainChange(
  candidate: Candidate,
  paths: readonly string[],
  failed: readonly FailedCandidate[],
  all: readonly Candidate[],
): string {
  const author = oneLine(candidate.influence.author ?? 'somebody');
  const trust = candidate.influence.trusted ? '' : ' Its author has no write access to the repository.';
  const lines = [`Applies the patch from ${oneLine(candidate.label)}, written by ${author}.${trust}`];
  if (candidate.quoted) lines.push('The patch stood in a quote, so it is somebody else’s.');
  lines.push(`Files: ${paths.slice(0, 20).map(inlineCode).join(', ')}${paths.length > 20 ? ', …' : ''}`);
  if (candidate.nameless > 0) {
    lines.push(`Left out: ${blocks(candidate.nameless)} that named no file.`);
  }
  for (const { candidate: other, problems } of failed.slice(0, maxShown)) {
    lines.push(`Not used: the patch from ${oneLine(other.label)}. ${inlineCode(problems[0] ?? '')}`);
  }
  const untried = all.length - failed.length - 1;
  if (untried > 0) {
    lines.push(
      `${untried === 1 ? 'One other text holds a patch and was' : `${untried} other texts hold patches and were`} not used: patches by people who may write come before others, and newer before older.`,
    );
  }
  return lines.join('\n\n');
}

export function explainFailures(failed: readonly FailedCandidate[], input: PlanningInput): string {
  const { default_branch } = input.repository;
  const shown = failed.slice(0, maxShown).map(({ candidate, problems }) => {
    const words = problems.slice(0, 5).join('\n');
    return `The patch from ${oneLine(candidate.label)} cannot be used on ${inlineCode(default_branch)}:\n\n${quotedWords(words)}`;
  });
  const more =
    failed.length > maxShown ? [`${failed.length - maxShown} older ones cannot be used either.`] : [];
  return [
    ...shown,
    ...more,
    `Could you update it for the latest ${inlineCode(default_branch)}? ${howToGiveAPatch}`,
  ].join('\n\n');
}

export function askForPatch(author: Author): string {
  const greeting = author.bot ? 'Hello,' : `Hello ${oneLine(author.login)},`;
  return `${greeting} thank you for the report. There is no patch in this issue yet, and this installation plans without a model, so it needs one to go on.\n\n${howToGiveAPatch}`;
}

function blocks(count: number): string {
  return count === 1 ? 'a block' : `${count} blocks`;
}
