import type { GitScratchCopy } from '../../planning/scratch-copy.ts';
import { Application, textsOf } from './application.ts';
import type { Candidate } from './candidates.ts';
import { plainReading, type Reading } from './place-hunks.ts';
import { concerns, repairs } from './repairs.ts';

const maxFiles = 500;
const maxBlocks = 10;

export interface Applied {
  readonly kind: 'applied';
  readonly paths: readonly string[];
  /** What a reviewer must know about the places of hunks, each with its file. */
  readonly notes: readonly string[];
  /** The only repair that makes the patch fit, for example `HTML entities`; null if it fits as written. */
  readonly repair: string | null;
}

export type Outcome =
  | Applied
  /** The files are already as the patch makes them. */
  | { readonly kind: 'already'; readonly paths: readonly string[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** Applies everything that a candidate proposes to the scratch copy, or leaves that as it was and says why. */
export async function applyCandidate(candidate: Candidate, scratch: GitScratchCopy): Promise<Outcome> {
  const problem = problemOf(candidate);
  if (problem !== null) return { kind: 'refused', problems: problem };
  const { tree: before } = await scratch.diff();
  const first = await attempt(candidate, scratch, plainReading);
  if (first.outcome.kind !== 'refused') return first.outcome;
  const repaired = first.repairable ? await repair(candidate, scratch) : null;
  if (repaired !== null && 'applied' in repaired) return repaired.applied;
  const alternatives = first.repairable ? await alternativesIn(candidate, scratch) : null;
  await scratch.restore(before);
  if (alternatives !== null) return { kind: 'refused', problems: [alternatives] };
  const { problems } = first.outcome;
  return { kind: 'refused', problems: repaired === null ? problems : [...problems, repaired.problem] };
}

function problemOf({ problems, parts, suggestions }: Candidate): readonly string[] | null {
  const count = parts.flat().length;
  if (problems.length > 0) return problems;
  if (count + suggestions.length === 0) {
    return ['the diff does not name a file: its `---` and `+++` lines are missing'];
  }
  return count > maxFiles ? [`it has parts for ${count} files; one text may change ${maxFiles}`] : null;
}

/** Restores the scratch copy unless the candidate applies. */
async function attempt(
  candidate: Pick<Candidate, 'parts' | 'suggestions'>,
  scratch: GitScratchCopy,
  reading: Reading,
): Promise<{ readonly outcome: Outcome; readonly repairable: boolean }> {
  const { tree: before } = await scratch.diff();
  const work = new Application(candidate, scratch, reading);
  const problems = [...(await work.apply())];
  const { already, paths, notes, repairable } = work;
  if (problems.length === 0 && already.length > 0 && !work.changes) {
    await scratch.restore(before);
    return { outcome: { kind: 'already', paths }, repairable: false };
  }
  problems.push(...already.map((path) => `${path}: this part is already applied`));
  if (problems.length === 0 && (await scratch.diff()).tree === before) problems.push('it changes nothing');
  if (problems.length === 0) return { outcome: { kind: 'applied', paths, notes, repair: null }, repairable };
  await scratch.restore(before);
  return { outcome: { kind: 'refused', problems }, repairable: repairable && already.length === 0 };
}

/** Applies the candidate with the only repair that makes it fit; null if there is none. */
async function repair(
  candidate: Candidate,
  scratch: GitScratchCopy,
): Promise<{ readonly applied: Applied } | { readonly problem: string } | null> {
  const texts = candidate.parts.flat().flatMap(textsOf);
  const { tree: before } = await scratch.diff();
  const fitting = new Map<string, Applied>();
  for (const one of repairs.filter((each) => concerns(each, texts))) {
    const { outcome } = await attempt(candidate, scratch, one);
    const { tree } = await scratch.diff();
    if (outcome.kind === 'applied' && !fitting.has(tree)) fitting.set(tree, { ...outcome, repair: one.name });
    await scratch.restore(before);
  }
  const [only, ...others] = fitting;
  if (only === undefined) return null;
  if (others.length > 0) {
    const names = [...fitting.values()].map((applied) => applied.repair).join('; ');
    return { problem: `several repairs make it fit, with different results: ${names}` };
  }
  await scratch.restore(only[0]);
  return { applied: only[1] };
}

/** In words that blocks of a text, which do not apply together, each apply alone. */
async function alternativesIn({ blocks }: Candidate, scratch: GitScratchCopy): Promise<string | null> {
  if (blocks.length < 2) return null;
  const lines: number[] = [];
  const { tree: before } = await scratch.diff();
  for (const block of blocks.slice(0, maxBlocks)) {
    const { outcome } = await attempt({ parts: [block], suggestions: [] }, scratch, plainReading);
    if (outcome.kind === 'applied') lines.push(block[0]!.line);
    await scratch.restore(before);
  }
  if (lines.length < blocks.length) return null;
  return `its blocks are alternatives (lines ${lines.join(', ')}): each of them applies, but not all together. Give the one to use in a new comment`;
}
