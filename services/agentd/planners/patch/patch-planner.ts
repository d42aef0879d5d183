import { Refused } from '#kit/errors.ts';
import { markOf } from '#kit/redaction/find-secrets.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Influence } from '../../action.ts';
import { oneLine } from '../../actions/published-texts.ts';
import { releaseHint } from '../../planning/change-checks.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import type { Planner, PlannerType, PlanningInput, Proposal } from '../../planning/planner.ts';
import { askForPatch, explainChange, explainFailures, type FailedCandidate } from './answers.ts';
import { applyCandidate } from './apply-candidate.ts';
import { type Candidate, candidatesOf } from './candidates.ts';

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
  const failed: FailedCandidate[] = [];
  for (const candidate of candidates.slice(0, maxCandidates)) {
    input.signal.throwIfAborted();
    input.progress(`trying the patch in ${candidate.label}`);
    requireUnmasked(candidate, input.secrets);
    const outcome = await applyCandidate(candidate, input.scratch);
    if ('problems' in outcome) {
      failed.push({ candidate, problems: outcome.problems });
      continue;
    }
    return {
      kind: 'change',
      title: oneLine(issue.title) || `Apply the patch of issue ${issue.number}`,
      explanation: explainChange(candidate, outcome.paths, failed, candidates),
      influences: distinct([issueInfluence(repository, issue), candidate.influence]),
      notices: noticesOf(outcome.notes),
    };
  }
  if (issue.number === null && failed.length === 0)
    throw new Refused('task_without_patch', 'the task holds no patch, and is planned without a model', {
      hint: 'Configure a model: ./core model add. Or put a diff into the task, in a block marked diff.',
    });
  const read = [issueInfluence(repository, issue), ...comments.map(commentInfluence)];
  const body = failed.length === 0 ? askForPatch(issue.author) : explainFailures(failed, input);
  return { kind: 'comment', body, influences: distinct(read) };
}

/**
 * A patch with a mask in it is not what was written.
 * @throws Refused (`patch_adds_secret`)
 */
function requireUnmasked({ label, place, parts, suggestions }: Candidate, secrets: MaskTally): void {
  const text = JSON.stringify([parts, suggestions]);
  const found = secrets.found
    .filter((one) => one.place === place && text.includes(markOf(one.kind, '')))
    .map(({ kind, fingerprint }) => `${kind} (${fingerprint})`);
  if (found.length === 0) return;
  throw new Refused(
    'patch_adds_secret',
    `the patch in ${label} holds what looks like a secret: ${found.join('; ')}. Nothing of it was stored`,
    { facts: { found }, hint: releaseHint },
  );
}

function noticesOf(notes: readonly string[]): string[] {
  const shown = notes.slice(0, maxNotes).map((note) => oneLine(note, 500));
  return notes.length > maxNotes ? [...shown, `${notes.length - maxNotes} more notes of this kind`] : shown;
}

function distinct(influences: readonly Influence[]): Influence[] {
  return [...new Map(influences.map((influence) => [influence.source, influence])).values()];
}
