import { CoreError, messageOf } from '#kit/errors.ts';
import { git, gitText } from '#kit/git/git.ts';
import { type FilePatch, scanPatches } from '#kit/git/patch.ts';
import { blobId } from '../../git/blobs.ts';
import { type GitScratchCopy, utf8Text } from '../../planning/scratch-copy.ts';
import type { Candidate } from './candidates.ts';
import {
  type Edit,
  edited,
  type LineEnds,
  linesOf,
  movesOf,
  type Placement,
  type PlacingOptions,
  placeHunks,
} from './place-hunks.ts';
import {
  filePatch,
  hunkOf,
  type ResolvedPatch,
  renderPatch,
  resolveNames,
  type Suggestion,
  suggestionEdits,
  writtenHunks,
} from './render-patch.ts';

const maxFiles = 500;

export interface Applied {
  readonly paths: readonly string[];
  /** What a reviewer must know about the places of hunks, each with its file. */
  readonly notes: readonly string[];
}

/** Applies everything that a candidate proposes to the scratch copy, or leaves that as it was and says why. */
export async function applyCandidate(
  candidate: Candidate,
  scratch: GitScratchCopy,
): Promise<Applied | { readonly problems: readonly string[] }> {
  const { parts, suggestions } = candidate;
  const count = parts.flat().length;
  if (candidate.problems.length > 0) return { problems: candidate.problems };
  if (count + suggestions.length === 0) {
    return { problems: ['the diff does not name a file: its `---` and `+++` lines are missing'] };
  }
  if (count > maxFiles) {
    return { problems: [`it has parts for ${count} files; one text may change ${maxFiles}`] };
  }
  const { tree: before } = await scratch.diff();
  const work = new Application(parts, scratch);
  const problems = [...(await work.apply(suggestions))];
  if (problems.length === 0 && (await scratch.diff()).tree === before) problems.push('it changes nothing');
  if (problems.length === 0) return work;
  await scratch.restore(before);
  return { problems };
}

class Application implements Applied {
  readonly notes: string[] = [];
  readonly #paths = new Set<string>();
  readonly #parts: Candidate['parts'];
  readonly #scratch: GitScratchCopy;
  readonly #showsLineEnds: boolean;
  /** For each file that the part changed so far, the index in the file before the part of each line; -1 for a new line. */
  #origins = new Map<string, readonly number[]>();

  constructor(parts: Candidate['parts'], scratch: GitScratchCopy) {
    this.#parts = parts;
    this.#scratch = scratch;
    this.#showsLineEnds = parts.flat().some(showsLineEnds);
  }

  get paths(): readonly string[] {
    return [...this.#paths];
  }

  async apply(suggestions: readonly Suggestion[]): Promise<readonly string[]> {
    const problems = await this.#suggest(suggestions);
    for (const part of this.#parts) {
      for (const step of stepsOf(part)) {
        if (problems.length > 0) return problems;
        problems.push(...(await this.#step(step)));
      }
      this.#origins = new Map();
    }
    for (const { path } of suggestions) this.#paths.add(path);
    return problems;
  }

  async #suggest(suggestions: readonly Suggestion[]): Promise<string[]> {
    const problems: string[] = [];
    const patches: Buffer[] = [];
    for (const [path, ofFile] of Map.groupBy(suggestions, (one) => one.path)) {
      const content = await this.#scratch.read(path);
      if (utf8Text(content) === null) {
        const name = path.replaceAll('`', '');
        problems.push(`the suggestion is for \`${name}\`, which is not a text file of the repository`);
        continue;
      }
      const lines = linesOf(content!);
      const edits = suggestionEdits(lines, ofFile);
      if ('problem' in edits) problems.push(`${path}: ${edits.problem}`);
      else patches.push(filePatch(path, this.#change(path, lines, edits)));
    }
    return problems.length > 0 ? problems : this.#apply(patches);
  }

  /** Applies patches for different files, which all stand for the tree before the step. */
  async #step(step: readonly FilePatch[]): Promise<string[]> {
    const files = new Set(await this.#scratch.list());
    const problems: string[] = [];
    const patches: Buffer[] = [];
    for (const file of step) {
      const resolved = resolveNames(file, files);
      const made = await this.#hunksOf(resolved);
      if ('problems' in made) problems.push(...made.problems);
      else patches.push(renderPatch(resolved, made.hunks));
    }
    return problems.length > 0 ? problems : this.#apply(patches);
  }

  async #apply(patches: readonly Buffer[]): Promise<string[]> {
    if (patches.length === 0) return [];
    try {
      await this.#scratch.edit({ kind: 'patch', patch: Buffer.concat(patches) });
      return [];
    } catch (error) {
      if (!(error instanceof CoreError) || error.status >= 500) throw error;
      return [messageOf(error)];
    }
  }

  async #hunksOf(resolved: ResolvedPatch): Promise<{ hunks: Buffer } | { problems: readonly string[] }> {
    const { file, old_path, new_path } = resolved;
    const path = new_path ?? old_path ?? '';
    this.#paths.add(path);
    const mode = old_path === null ? null : this.#scratch.modeOf(old_path);
    if (old_path !== null && mode === null) {
      return { problems: [`${old_path}: the repository has no such file`] };
    }
    const content = old_path === null ? null : await this.#scratch.read(old_path);
    const written: LineEnds = this.#showsLineEnds ? 'exact' : 'of the file';
    if (content === null || file.hunks.length === 0) return { hunks: writtenHunks(file.hunks, written) };
    const lines = linesOf(content);
    const moves = await movesSince(this.#scratch.gitDir, file, content);
    const options = { moves, positions: this.#positions(path) };
    const placed = placeIn(lines, file, options, written);
    if ('problems' in placed) return { problems: placed.problems.map(({ text }) => `${old_path}, ${text}`) };
    this.notes.push(...placed.notes.map((note) => `${path}: ${note}`));
    return { hunks: this.#change(path, lines, placed.edits) };
  }

  /** A line of the patch may be counted in the file as it is now, or before the earlier blocks of the same text. */
  #positions(path: string): PlacingOptions['positions'] {
    const origins = this.#origins.get(path);
    if (origins === undefined) return (index) => [index];
    return (index) => [...new Set([index, origins.indexOf(index)])];
  }

  #change(path: string, lines: readonly string[], edits: readonly Edit[]): Buffer {
    const origins = this.#origins.get(path) ?? lines.map((_, index) => index);
    const none = edits.map((edit) => ({ ...edit, lines: edit.lines.map(() => -1) }));
    this.#origins.set(path, edited(origins, none));
    return hunkOf(lines, edits);
  }
}

/** Carriage returns that the text shows count, if the patch fits with them. */
function placeIn(
  lines: readonly string[],
  { hunks }: FilePatch,
  options: Omit<PlacingOptions, 'ends'>,
  written: LineEnds,
): Placement {
  const placed = placeHunks(lines, hunks, { ...options, ends: written });
  const isAbsent = 'problems' in placed && placed.problems.some(({ kind }) => kind === 'absent');
  return isAbsent && written === 'exact'
    ? placeHunks(lines, hunks, { ...options, ends: 'of the file' })
    : placed;
}

/** Splits where a patch changes a file that an earlier one of the same text wrote; renames of a diff belong together. */
function stepsOf(part: readonly FilePatch[]): FilePatch[][] {
  const steps: FilePatch[][] = [];
  let written = new Set<string>();
  for (const file of part) {
    const moves = file.moved.old !== null;
    const again = !moves && file.old_name !== null && written.has(withoutPrefix(file.old_name));
    if (steps.length === 0 || again) {
      steps.push([]);
      written = new Set();
    }
    steps.at(-1)!.push(file);
    if (!moves && file.new_name !== null) written.add(withoutPrefix(file.new_name));
  }
  return steps;
}

function withoutPrefix(name: string): string {
  return name.replace(/^[abciow12]\//, '');
}

/** `moves` since the blob that the patch names; null if it names none, or one that the repository does not have. */
async function movesSince(
  gitDir: string,
  { extended }: FilePatch,
  content: Uint8Array,
): Promise<PlacingOptions['moves']> {
  const id = extended.map((line) => /^index ([0-9a-f]{7,64})\.\./.exec(line)?.[1]).find((found) => found);
  if (id === undefined) return null;
  const same = [40, 64].some((length) => blobId(length, content).startsWith(id));
  if (same) return (index) => index;
  const now = await gitText(['hash-object', '-w', '--stdin'], { gitDir, input: content });
  const args = ['diff', '-U0', '--text', '--no-color', '--no-ext-diff', '--no-textconv'];
  const patch = await git([...args, `${id}^{blob}`, `${now}^{blob}`], { gitDir, accept: [128] });
  if (patch.stdout.length === 0) return null;
  const lines = patch.stdout.toString('latin1').split('\n');
  return movesOf(scanPatches(lines, 1).files.flatMap(({ hunks }) => hunks));
}

function showsLineEnds({ hunks }: FilePatch): boolean {
  return hunks.some(({ lines }) => lines.some((line) => line.endsWith('\r')));
}
