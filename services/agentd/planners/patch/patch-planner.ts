import { CoreError, messageOf, Refused } from '#kit/errors.ts';
import { type FilePatch, quoteName } from '#kit/git/patch.ts';
import { markOf } from '#kit/redaction/find-secrets.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import type { Influence } from '../../action.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { TreeReader } from '../../git/tree.ts';
import { releaseHint } from '../../planning/change-checks.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import type { Planner, PlannerType, PlanningInput, Proposal } from '../../planning/planner.ts';
import { utf8Text } from '../../planning/scratch-copy.ts';
import { askForPatch, explainChange, explainFailures, type FailedCandidate } from './answers.ts';
import { type Candidate, candidatesOf } from './candidates.ts';
import {
  type LineEnds,
  type ResolvedPatch,
  renderPatch,
  resolveNames,
  type Suggestion,
  suggestionPatch,
} from './render-patch.ts';

/** Each candidate costs a few runs of git. */
const maxCandidates = 20;

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
    const outcome = await apply(candidate, input);
    if ('problems' in outcome) {
      failed.push({ candidate, problems: outcome.problems });
      continue;
    }
    return {
      kind: 'change',
      title: oneLine(issue.title) || `Apply the patch of issue ${issue.number}`,
      explanation: explainChange(candidate, outcome.paths, failed, candidates),
      influences: distinct([issueInfluence(repository, issue), candidate.influence]),
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

const maxFiles = 500;

/** One git patch of everything that a candidate proposes, in the forms worth trying; or why there is none. */
export type Assembled =
  | { readonly patches: readonly string[]; readonly paths: readonly string[] }
  | { readonly problems: readonly string[] };

/**
 * Most forges store text with line ends of their own, so a patch seldom shows whether it means CRLF. Where it does, it is taken
 * at its word. Else lines take the ends of the file that they change; where that does not fit, plain line feeds are tried.
 */
export async function assemble(candidate: Candidate, tree: TreeReader): Promise<Assembled> {
  if (candidate.problems.length > 0) return { problems: candidate.problems };
  if (candidate.files.length + candidate.suggestions.length === 0) {
    return { problems: ['the diff does not name a file: its `---` and `+++` lines are missing'] };
  }
  if (candidate.files.length > maxFiles) {
    return {
      problems: [`it has parts for ${candidate.files.length} files; one text may change ${maxFiles}`],
    };
  }
  const files = new Set(await tree.list());
  const resolved = candidate.files.map((file) => resolveNames(file, files));
  const ends = new Map<string, LineEnds>();
  for (const { old_path } of resolved) {
    if (old_path !== null && files.has(old_path) && !ends.has(old_path))
      ends.set(old_path, await lineEnds(old_path, tree));
  }
  const suggested = await suggestionPatches(candidate.suggestions, tree);
  if ('problems' in suggested) return suggested;
  const forms = [
    ...(candidate.files.some(showsLineEnds) ? [() => 'as written' as const] : []),
    ({ old_path }: ResolvedPatch) => ends.get(old_path ?? '') ?? [],
    () => [],
  ];
  const texts = new Set(forms.map((form) => resolved.map((part) => renderPatch(part, form(part))).join('')));
  const patches = [...texts].map((text) => text + suggested.patch);
  const paths = [...resolved.map(pathOf), ...candidate.suggestions.map(({ path }) => path)];
  return { patches, paths: [...new Set(paths)] };
}

function pathOf({ new_path, old_path }: ResolvedPatch): string {
  return new_path ?? old_path ?? '';
}

function showsLineEnds({ hunks }: FilePatch): boolean {
  return hunks.some(({ lines }) => lines.some((line) => line.endsWith('\r')));
}

/** Of each line; none for a file that uses plain line feeds alone. */
async function lineEnds(path: string, tree: TreeReader): Promise<LineEnds> {
  const content = await tree.read(path);
  if (content === null) return [];
  const bytes = Buffer.from(content);
  if (!bytes.includes('\r\n')) return [];
  return bytes
    .toString('latin1')
    .split('\n')
    .map((line) => (line.endsWith('\r') ? '\r\n' : '\n'));
}

async function suggestionPatches(
  suggestions: readonly Suggestion[],
  tree: TreeReader,
): Promise<{ patch: string } | { problems: string[] }> {
  const byPath = Map.groupBy(suggestions, ({ path }) => path);
  const parts: string[] = [];
  const problems: string[] = [];
  for (const [path, ofFile] of byPath) {
    const content = utf8Text(await tree.read(path));
    if (content === null) {
      problems.push(
        `the suggestion is for \`${path.replaceAll('`', '')}\`, which is no text file of the repository`,
      );
      continue;
    }
    const made = suggestionPatch(content, ofFile);
    if ('problem' in made) problems.push(`${path}: ${made.problem}`);
    else {
      const [old, new_] = [quoteName(`a/${path}`), quoteName(`b/${path}`)];
      parts.push(`diff --git ${old} ${new_}\n--- ${old}\t\n+++ ${new_}\t\n${made.hunk}`);
    }
  }
  return problems.length > 0 ? { problems } : { patch: parts.join('') };
}
