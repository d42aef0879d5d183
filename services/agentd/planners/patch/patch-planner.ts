import { CoreError, messageOf, Refused } from '#kit/errors.ts';
import { markOf } from '#kit/redaction/find-secrets.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Influence } from '../../action.ts';
import { oneLine } from '../../actions/plain-text.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import type { Planner, PlanningInput, PlanningResult } from '../../planning/planner.ts';
import { releaseHint } from '../../planning/secrets.ts';
import { askForPatch, explainChange, explainFailures, type FailedCandidate } from './answers.ts';
import { assemble } from './assemble.ts';
import { type Candidate, candidatesOf } from './candidates.ts';

/** Each candidate costs a few runs of git. */
const maxCandidates = 20;

/** Plans without a model: takes the patch that people put into the issue or its comments. */
export function createPatchPlanner(): Planner {
  return { name: 'patch', model: null, propose };
}

async function propose(input: PlanningInput): Promise<PlanningResult> {
  const { repository, issue, comments } = input;
  const candidates = candidatesOf(repository, issue, comments);
  const failed: FailedCandidate[] = [];
  for (const candidate of candidates.slice(0, maxCandidates)) {
    input.signal.throwIfAborted();
    input.progress(`trying the patch in ${candidate.label}`);
    requireUnmasked(candidate, input.secrets);
    const outcome = await apply(candidate, input);
    if ('problems' in outcome) {
      failed.push({ candidate, problems: outcome.problems });
      continue;
    }
    return submitted({
      kind: 'change',
      title: oneLine(issue.title) || `Apply the patch of issue ${issue.number}`,
      explanation: explainChange(candidate, outcome.paths, failed, candidates),
      influences: distinct([issueInfluence(repository, issue), candidate.influence]),
    });
  }
  const read = [issueInfluence(repository, issue), ...comments.map(commentInfluence)];
  const body = failed.length === 0 ? askForPatch(issue.author) : explainFailures(failed, input);
  return submitted({ kind: 'comment', body, influences: distinct(read) });
}

function submitted(proposal: PlanningResult['proposal']): PlanningResult {
  return { proposal, stop_reason: 'submitted' };
}

/** Applies a candidate whole to the scratch copy, or leaves that as it was and says why. */
async function apply(
  candidate: Candidate,
  { scratch }: PlanningInput,
): Promise<{ paths: readonly string[] } | { problems: readonly string[] }> {
  const assembled = await assemble(candidate, scratch);
  if ('problems' in assembled) return assembled;
  const before = (await scratch.diff()).tree;
  const problems: string[] = [];
  for (const patch of assembled.patches) {
    try {
      await scratch.edit({ kind: 'patch', patch });
    } catch (error) {
      if (!(error instanceof CoreError) || error.status >= 500) throw error;
      problems.push(messageOf(error));
      continue;
    }
    if ((await scratch.diff()).tree !== before) return { paths: assembled.paths };
    return { problems: ['it changes nothing'] };
  }
  return { problems: [...new Set(problems)].slice(0, 1) };
}

/**
 * A patch with a mask in it is not what was written.
 * @throws Refused (`patch_adds_secret`)
 */
function requireUnmasked({ label, place, files, suggestions }: Candidate, secrets: MaskTally): void {
  const text = JSON.stringify([files, suggestions]);
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

function distinct(influences: readonly Influence[]): Influence[] {
  return [...new Map(influences.map((influence) => [influence.source, influence])).values()];
}
