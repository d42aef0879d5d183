import { inlineCode, oneLine, quotedWords } from '../../actions/published-texts.ts';
import type { PlanningInput } from '../../planning/planner.ts';
import type { Author } from '../../ports/forge.ts';
import type { Applied, Outcome } from './apply-candidate.ts';
import { type Candidate, labelOf } from './candidates.ts';

/** What the patch planner says. None of its texts holds a block that a later planning could take for a patch. */

export interface Tried {
  readonly candidate: Candidate;
  readonly outcome: Outcome;
  /** The tree that it makes; null unless it applies. */
  readonly tree: string | null;
}

/** The candidate that is planned. */
export interface Chosen extends Tried {
  readonly outcome: Applied;
}

const maxShown = 3;
const howToGiveAPatch = `A patch can be given in the issue or in a comment, as

- the output of ${inlineCode('git diff')} (with ${inlineCode('--binary')} where files are not text) in a fenced block marked ${inlineCode('diff')}, or
- a fenced block marked ${inlineCode('suggestion')} with the file and line above it, for example ${inlineCode('src/greet.js:12')} or ${inlineCode('src/greet.js#L10-L14')}; its lines replace those.

Several blocks in one comment make one change.`;

/** @param others what else was tried, in order @param untried number of candidates beyond the bound */
export function explainChange(chosen: Chosen, others: readonly Tried[], untried: number): string {
  const { candidate, outcome } = chosen;
  const { influence } = candidate.sources[0]!;
  const author = oneLine(influence.author ?? 'an unknown author');
  const trust = influence.trusted ? '' : ' Its author has no write access to the repository.';
  const what = candidate.sources.length > 1 ? 'the series of patches' : 'the patch';
  const lines = [`Applies ${what} from ${oneLine(labelOf(candidate))}, written by ${author}.${trust}`];
  if (candidate.quoted) lines.push('The patch was in a quote, so its author is not known.');
  if (outcome.repair !== null) {
    lines.push(`The patch did not fit as it was written. Core repaired it: ${oneLine(outcome.repair)}.`);
  }
  const { paths } = outcome;
  lines.push(`Files: ${paths.slice(0, 20).map(inlineCode).join(', ')}${paths.length > 20 ? ', …' : ''}`);
  if (candidate.nameless > 0) {
    lines.push(`Left out: ${blocks(candidate.nameless)} that named no file.`);
  }
  lines.push(...others.slice(0, maxShown).map((other) => otherText(other, chosen)));
  const left = Math.max(0, others.length - maxShown);
  if (left > 0) lines.push(`Not used: ${texts(left)} with patches that were tried.`);
  if (untried > 0) lines.push(`Not tried: ${texts(untried)} with patches.`);
  if (others.length + untried > 0) {
    lines.push('Patches by authors with write access come first, and newer before older.');
  }
  return lines.join('\n\n');
}

function otherText({ candidate, outcome, tree }: Tried, chosen: Chosen): string {
  const from = oneLine(labelOf(candidate));
  if (outcome.kind === 'already') return `Not used: the patch from ${from}. It is already applied.`;
  if (outcome.kind === 'refused') {
    return `Not used: the patch from ${from}. ${inlineCode(outcome.problems[0] ?? '')}`;
  }
  if (tree === chosen.tree) return `The patch from ${from} makes the same change.`;
  return `Alternative: the patch from ${from} applies too, with another result, and was not used.`;
}

export function explainFailures(
  tried: readonly Tried[],
  untried: number,
  { repository: { default_branch } }: Pick<PlanningInput, 'repository'>,
): string {
  const branch = inlineCode(default_branch);
  const shown = tried.slice(0, maxShown).map(({ candidate, outcome }) => {
    const from = oneLine(labelOf(candidate));
    if (outcome.kind === 'already') {
      const paths = outcome.paths.slice(0, 20).map(inlineCode).join(', ');
      return `The patch from ${from} is already applied on ${branch}: ${paths}. There is nothing left to change.`;
    }
    const words = outcome.kind === 'refused' ? outcome.problems.slice(0, 5).join('\n') : '';
    return `The patch from ${from} cannot be used on ${branch}:\n\n${quotedWords(words)}`;
  });
  const more =
    tried.length > maxShown ? [`${tried.length - maxShown} older ones cannot be used either.`] : [];
  const left = untried > 0 ? [`Not tried: ${texts(untried)} with patches.`] : [];
  const isDone = tried[0]?.outcome.kind === 'already';
  const request = `Could you update it for the latest ${branch}? ${howToGiveAPatch}`;
  return [...shown, ...more, ...left, ...(isDone ? [] : [request])].join('\n\n');
}

export function askForPatch(author: Author): string {
  const greeting = author.bot ? 'Hello,' : `Hello ${oneLine(author.login)},`;
  return `${greeting} thank you for the report. There is no patch in this issue yet, and this installation plans without a model, so it needs one to go on.\n\n${howToGiveAPatch}`;
}

function texts(count: number): string {
  return count === 1 ? 'one more text' : `${count} more texts`;
}

function blocks(count: number): string {
  return count === 1 ? 'a block' : `${count} blocks`;
}
