import { Refused } from '#kit/errors.ts';
import { markOf } from '#kit/redaction/find-secrets.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Influence } from '../../action.ts';
import { oneLine } from '../../actions/published-texts.ts';
import { releaseHint } from '../../planning/change-checks.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import type { Planner, PlannerType, PlanningInput, Proposal } from '../../planning/planner.ts';
import { askForPatch, type Chosen, explainChange, explainFailures, type Tried } from './answers.ts';
import { applyCandidate } from './apply-candidate.ts';
import { authorIn, type Candidate, candidatesOf, isOwn, labelOf, patchAuthorOf } from './candidates.ts';

/** Each candidate costs a few runs of git. */
const maxCandidates = 20;
const maxNotes = 20;

/** Plans without a model: takes the patch that people put into the issue or its comments. */
export const patch: PlannerType = {
  missing: () => null,
  create: createPatchPlanner,
};

export function createPatchPlanner(): Planner {
  return { name: 'patch', model: null, propose };
}

async function propose(input: PlanningInput): Promise<Proposal> {
  const { repository, issue, comments } = input;
  const candidates = candidatesOf(repository, issue, comments);
  const tried = await tryAll(candidates.slice(0, maxCandidates), input);
  const untried = Math.max(0, candidates.length - maxCandidates);
  const chosen = tried.find(isApplied);
  if (chosen !== undefined) {
    await input.scratch.restore(chosen.tree!);
    const others = tried.filter((one) => one !== chosen);
    const { notes, repair } = chosen.outcome;
    const choice = choiceBetween(chosen, others, issue);
    return {
      kind: 'change',
      title: oneLine(issue.title) || `Apply the patch of issue ${issue.number}`,
      explanation: explainChange(chosen, others, untried),
      patch_by: patchAuthorOf(chosen.candidate, repair !== null),
      influences: distinct([
        issueInfluence(repository, issue),
        ...chosen.candidate.sources.map(({ influence }) => influence),
      ]),
      notices: noticesOf([
        ...choice.notices,
        ...(repair === null ? [] : [repairNote(chosen.candidate, repair)]),
        ...notes,
      ]),
      repair,
      displaces: choice.displaces,
    };
  }
  if (issue.number === null && tried.length === 0)
    throw new Refused('task_without_patch', 'the task holds no patch, and is planned without a model', {
      hint: 'Configure a model: ./core model add. Or put a diff into the task, in a block marked diff.',
    });
  const read = [issueInfluence(repository, issue), ...comments.map(commentInfluence)];
  const body = tried.length === 0 ? askForPatch(issue.author) : explainFailures(tried, untried, input);
  return { kind: 'comment', body, influences: distinct(read) };
}

/** Tries each candidate on the base: the plan names all of them. */
async function tryAll(candidates: readonly Candidate[], input: PlanningInput): Promise<Tried[]> {
  const { scratch, secrets } = input;
  const { tree: base } = await scratch.diff();
  const tried: Tried[] = [];
  for (const candidate of candidates) {
    input.signal.throwIfAborted();
    input.progress(`trying the patch in ${labelOf(candidate)}`);
    const masked = maskedIn(candidate, secrets);
    if (masked.length > 0) {
      if (!tried.some(isApplied)) throw addsSecret(candidate, masked);
      const problems = [`it holds what looks like a secret: ${masked.join('; ')}`];
      tried.push({ candidate, outcome: { kind: 'refused', problems }, tree: null });
      continue;
    }
    const outcome = await applyCandidate(candidate, scratch);
    const tree = outcome.kind === 'applied' ? (await scratch.diff()).tree : null;
    tried.push({ candidate, outcome, tree });
    await scratch.restore(base);
  }
  return tried;
}

/** Names the authors of the proposed patch and of those that it was preferred to, where an outsider is among them. */
function choiceBetween(
  { candidate: chosen }: Chosen,
  others: readonly Tried[],
  issue: PlanningInput['issue'],
): { readonly notices: readonly string[]; readonly displaces: string | null } {
  const named = (one: Candidate) => `${authorIn(one)} (${labelOf(one)})`;
  const unquoted = others.map(({ candidate }) => candidate).filter(({ quoted }) => !quoted);
  if (isOwn(chosen, issue)) {
    const outside = unquoted.filter((one) => !isOwn(one, issue)).map(named);
    const why = `proposed is the patch of ${named(chosen)}, not that of ${outside.join(' or ')}: a patch of an outsider does not replace one of the issue's author or of an author with write access`;
    return { notices: outside.length === 0 ? [] : [why], displaces: null };
  }
  const own = unquoted.filter((one) => isOwn(one, issue)).map(named);
  if (own.length === 0) return { notices: [], displaces: null };
  const displaces = `the patch of ${named(chosen)}, an outsider, is proposed because that of ${own.join(' and ')} cannot be used`;
  return { notices: [displaces], displaces };
}

function isApplied(tried: Tried): tried is Chosen {
  return tried.outcome.kind === 'applied';
}

/** Kinds and fingerprints of secrets that the patch would need. A masked patch differs from the one that its author wrote. */
function maskedIn({ sources, parts, suggestions }: Candidate, secrets: MaskTally): string[] {
  const text = JSON.stringify([parts, suggestions]);
  const places = sources.map(({ place }) => place);
  return secrets.found
    .filter((one) => places.includes(one.place) && text.includes(markOf(one.kind, '')))
    .map(({ kind, fingerprint }) => `${kind} (${fingerprint})`);
}

function addsSecret(candidate: Candidate, found: readonly string[]): Refused {
  return new Refused(
    'patch_adds_secret',
    `the patch in ${labelOf(candidate)} holds what looks like a secret: ${found.join('; ')}. Nothing of it was stored`,
    { facts: { found }, hint: releaseHint },
  );
}

function repairNote(candidate: Candidate, repair: string): string {
  return `the patch from ${labelOf(candidate)} did not fit as written and was repaired (${repair}): compare it with the text`;
}

function noticesOf(notes: readonly string[]): string[] {
  const shown = notes.slice(0, maxNotes).map((note) => oneLine(note, 500));
  return notes.length > maxNotes ? [...shown, `${notes.length - maxNotes} more notes of this kind`] : shown;
}

function distinct(influences: readonly Influence[]): Influence[] {
  return [...new Map(influences.map((influence) => [influence.source, influence])).values()];
}
