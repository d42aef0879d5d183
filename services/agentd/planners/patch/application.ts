import { CoreError, messageOf } from '#kit/errors.ts';
import type { FilePatch, Hunk } from '#kit/git/patch.ts';
import { type GitScratchCopy, utf8Text } from '../../planning/scratch-copy.ts';
import type { Candidate } from './candidates.ts';
import { type Edit, edited, linesOf } from './file-lines.ts';
import { mismatchOf } from './mismatch.ts';
import { isResult, movesSince } from './named-blobs.ts';
import {
  type HunkProblem,
  isApplied,
  isBare,
  type LineEnds,
  type Placement,
  type PlacingOptions,
  placeHunks,
  type Reading,
} from './place-hunks.ts';
import { filePatch, hunkOf, type ResolvedPatch, renderPatch, writtenHunks } from './render-patch.ts';
import { suspectEntity } from './repairs.ts';
import { isCopy, isUncertainCopy, stepOf } from './steps.ts';
import { placedNow, type Suggestion, suggestionEdits } from './suggestions.ts';

/** Number of hunks of a file whose mismatch is explained. */
const maxReported = 5;

/** One attempt to apply a candidate to the scratch copy, which a failed one leaves half changed. */
export class Application {
  readonly notes: string[] = [];
  /** Files that are already as the patch makes them. */
  readonly already: string[] = [];
  /** True if it changed a file that was not already as the patch makes it. */
  changes = false;
  /** True if only hunks are missing, so that reading the text in another way can help. */
  repairable = true;
  readonly #paths = new Set<string>();
  readonly #candidate: Pick<Candidate, 'parts' | 'suggestions'>;
  readonly #scratch: GitScratchCopy;
  readonly #reading: Reading;
  readonly #written: LineEnds;
  /** Added lines with an HTML entity that neither the file nor the `index` line of the patch accounts for. */
  readonly #entities: string[] = [];
  /** Parts that only insert without context, where the file has these lines already. They fit, and may be applied. */
  readonly #repeated = new Set<FilePatch>();
  /** For each file that the part changed so far, the index in the file before the part of each line; -1 for a new line. */
  #origins = new Map<string, readonly number[]>();
  /** What each part changes in the lines of its file. */
  readonly #edits = new Map<
    FilePatch,
    { readonly lines: readonly string[]; readonly edits: readonly Edit[] }
  >();

  constructor(
    candidate: Pick<Candidate, 'parts' | 'suggestions'>,
    scratch: GitScratchCopy,
    reading: Reading,
  ) {
    this.#candidate = candidate;
    this.#scratch = scratch;
    this.#reading = reading;
    this.#written = candidate.parts.flat().some(showsLineEnds) ? 'exact' : 'of the file';
  }

  get paths(): readonly string[] {
    return [...this.#paths];
  }

  /** What is wrong, in words for people; nothing if everything was applied or is already there. */
  async apply(): Promise<readonly string[]> {
    const { parts, suggestions } = this.#candidate;
    const problems = await this.#suggest(suggestions);
    for (const part of parts) {
      for (let done = 0; done < part.length; ) {
        if (problems.length > 0) return problems;
        const files = new Set(await this.#scratch.list());
        const step = stepOf(part.slice(done), files, (path) => this.#scratch.modeOf(path) !== null);
        problems.push(...(await this.#step(step, files)));
        done += step.length;
      }
      this.#origins = new Map();
    }
    for (const { path } of suggestions) this.#paths.add(path);
    const entity = this.#entities.length === 0 ? null : suspectEntity(parts.flat().flatMap(textsOf));
    if (problems.length === 0 && entity !== null) {
      problems.push(
        `${this.#entities[0]}: the patch adds \`${entity}\`, and has no \`<\`, \`>\` or \`&\` of its own: its text seems to be escaped for HTML. Give the patch as plain text. If the file really has \`${entity}\`, keep the \`index\` line of \`git diff\` in the patch`,
      );
      this.repairable = false;
    }
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
      const placed: Suggestion[] = [];
      for (const one of ofFile) {
        const now = await placedNow(this.#scratch.gitDir, one, content!);
        if (typeof now === 'string') {
          problems.push(`${path}: ${now}`);
          continue;
        }
        placed.push(now.placed);
        if (now.note !== null) this.notes.push(`${path}: ${now.note}`);
      }
      if (placed.length < ofFile.length) continue;
      const edits = suggestionEdits(lines, placed);
      if ('problem' in edits) problems.push(`${path}: ${edits.problem}`);
      else {
        patches.push(filePatch(path, hunkOf(lines, edits)));
        this.#origins.set(path, originsAfter(undefined, lines, edits));
      }
    }
    if (problems.length > 0) this.repairable = false;
    this.changes ||= patches.length > 0;
    return problems.length > 0 ? problems : this.#apply(patches);
  }

  /** Applies patches for different files, which all stand for the tree before the step. */
  async #step(step: readonly ResolvedPatch[], files: ReadonlySet<string>): Promise<string[]> {
    const problems: string[] = [];
    const patches: Buffer[] = [];
    /** git writes a change of a file into a link, or of a link into a file, as a deletion and a creation. */
    const deleted = new Set<string>();
    for (const resolved of step) {
      const { file } = resolved;
      const path = resolved.new_path ?? resolved.old_path ?? '';
      this.#paths.add(path);
      const hunks =
        resolved.old_path === null && deleted.has(path)
          ? writtenHunks(file.hunks, this.#written, this.#reading)
          : await this.#hunksOf(resolved, files);
      if (resolved.new_path === null) deleted.add(path);
      if (isUncertainCopy(resolved, step)) {
        const from = resolved.old_path;
        this.notes.push(`${path}: a copy of ${from} as it was before the change in the same text`);
      }
      if (hunks === 'already') this.already.push(path);
      else if (Array.isArray(hunks)) problems.push(...hunks);
      else {
        patches.push(renderPatch(resolved, hunks as Buffer));
        if (!this.#repeated.has(file)) this.changes = true;
      }
    }
    if (problems.length > 0) return problems;
    this.#followLines(step);
    return this.#apply(patches);
  }

  async #apply(patches: readonly Buffer[]): Promise<string[]> {
    if (patches.length === 0) return [];
    try {
      await this.#scratch.edit({ kind: 'patch', patch: Buffer.concat(patches) });
      return [];
    } catch (error) {
      if (!(error instanceof CoreError) || error.status >= 500) throw error;
      this.repairable = false;
      return [messageOf(error)];
    }
  }

  /** The hunks for git, or what is wrong. */
  async #hunksOf(
    resolved: ResolvedPatch,
    files: ReadonlySet<string>,
  ): Promise<Buffer | readonly string[] | 'already'> {
    const { file, old_path, new_path } = resolved;
    const path = new_path ?? old_path ?? '';
    const written = this.#written;
    const direct = () => writtenHunks(file.hunks, written, this.#reading);
    if (old_path === null) return this.#created(resolved, direct());
    if (this.#scratch.modeOf(old_path) === null) {
      if (new_path === null) return 'already';
      return this.#refused([`${old_path}: the repository has no such file${likeNames(old_path, files)}`]);
    }
    if (old_path !== new_path && new_path !== null && file.extended.length === 0) {
      return this.#refused([`the patch names ${old_path} and ${new_path}, and the repository has both`]);
    }
    const content = await this.#scratch.read(old_path);
    if (content === null || file.hunks.length === 0) return direct();
    const changesText = old_path === new_path && !file.extended.some((line) => line.startsWith('old mode'));
    if (changesText && isResult(file, content)) return 'already';
    const lines = linesOf(content);
    const placed = placeIn(lines, file.hunks, written, {
      reading: this.#reading,
      moves: await movesSince(this.#scratch.gitDir, file, content),
      positions: this.#positions(old_path),
    });
    if ('problems' in placed) {
      const absent = new Set(placed.problems.filter(({ kind }) => isNowhere(kind)).map(({ hunk }) => hunk));
      const mayBeApplied = absent.size > 0 && file.hunks.every((hunk) => absent.has(hunk) || isBare(hunk));
      if (changesText && mayBeApplied && isApplied(lines, file.hunks, written)) return 'already';
      if (placed.problems.some(({ kind }) => kind !== 'absent' && kind !== 'no newline'))
        this.repairable = false;
      return placed.problems.slice(0, maxReported).map(({ hunk, kind, text }) => {
        if (kind !== 'absent') return `${old_path}, ${text}`;
        if (isApplied(lines, [hunk], written))
          return `${old_path}, line ${hunk.old_start}: this hunk is already applied`;
        return `${old_path}, ${text}\n${mismatchOf(lines, hunk)}`;
      });
    }
    if (changesText && file.hunks.every(isBare) && isApplied(lines, file.hunks, written))
      this.#repeated.add(file);
    const after = edited(lines, placed.edits);
    if (new_path === null && after.length > 0) {
      return this.#refused([`${old_path}: the patch deletes the file, but not ${after.length} of its lines`]);
    }
    this.notes.push(...placed.notes.map((note) => `${path}: ${note}`));
    this.#lookForEntities(file, path, lines.join(''), Buffer.from(after.join(''), 'latin1'));
    this.#edits.set(file, { lines, edits: placed.edits });
    return hunkOf(lines, placed.edits);
  }

  #refused(problems: readonly string[]): readonly string[] {
    this.repairable = false;
    return problems;
  }

  async #created(
    { file, new_path }: ResolvedPatch,
    hunks: Buffer,
  ): Promise<Buffer | readonly string[] | 'already'> {
    const path = new_path ?? '';
    const content = Buffer.from(file.hunks.flatMap(addedTexts).join(''));
    const mode = this.#scratch.modeOf(path);
    if (mode !== null && file.binary.length === 0) {
      const now = await this.#scratch.read(path);
      const isSame = now !== null && Buffer.from(now).equals(content);
      const [wanted = mode] = file.extended.flatMap((line) => /^new file mode (\d+)$/.exec(line)?.[1] ?? []);
      if (isSame && mode === wanted) return 'already';
      const but = isSame
        ? ` with the same content and mode ${mode}, not ${wanted}; give the change of the mode as the output of \`git diff\``
        : '';
      return this.#refused([`${path}: the patch creates this file, but the repository already has it${but}`]);
    }
    this.#lookForEntities(file, path, '', content);
    return hunks;
  }

  #lookForEntities(file: FilePatch, path: string, before: string, after: Uint8Array): void {
    const entity = /&(?:lt|gt|amp|quot|apos|#39|#x27|#34);/i;
    if (markup.test(path) || entity.test(before)) return;
    if (isResult(file, after)) return;
    for (const { lines, line } of file.hunks) {
      const at = lines.findIndex((text) => text.startsWith('+') && entity.test(this.#reading.bytes(text)));
      if (at >= 0) this.#entities.push(`line ${line + at + 1} of the text, for ${path}`);
    }
  }

  /** A line of the patch may be counted in the file as it is now, or before the earlier blocks of the same text. */
  #positions(path: string): PlacingOptions['positions'] {
    const origins = this.#origins.get(path);
    if (origins === undefined) return (index) => [index];
    return (index) => [...new Set([index, origins.indexOf(index)])].filter((at) => at >= 0);
  }

  /** Origins belong to the content: they go with a renamed file, and a deleted one leaves none to a new file of its name. */
  #followLines(step: readonly ResolvedPatch[]): void {
    const before = new Map(this.#origins);
    for (const { file, old_path } of step)
      if (old_path !== null && !isCopy(file)) this.#origins.delete(old_path);
    for (const { file, old_path, new_path } of step) {
      if (new_path === null) continue;
      const known = old_path === null ? undefined : before.get(old_path);
      const change = this.#edits.get(file);
      const origins = change === undefined ? known : originsAfter(known, change.lines, change.edits);
      if (origins === undefined) this.#origins.delete(new_path);
      else this.#origins.set(new_path, origins);
    }
  }
}

function originsAfter(
  before: readonly number[] | undefined,
  lines: readonly string[],
  edits: readonly Edit[],
): readonly number[] {
  const none = edits.map((edit) => ({ ...edit, lines: edit.lines.map(() => -1) }));
  return edited(before ?? lines.map((_, index) => index), none);
}

/** Files in which an entity is usual. */
const markup =
  /\.(?:[sx]?html?|xml|xsl|xsd|svg|xaml|md|markdown|mdx|rst|adoc|jsx|tsx|vue|svelte|astro|php|erb|ejs|hbs|twig|jsp|aspx?|cshtml|po|resx|strings|plist)$/i;

export function textsOf({ hunks }: FilePatch): string[] {
  return hunks.flatMap(({ lines }) =>
    lines.filter((line) => !line.startsWith('\\')).map((line) => line.slice(1)),
  );
}

/** Of a new file, with the line feeds that it has. */
function addedTexts({ lines }: Hunk): string[] {
  return lines.flatMap((line, index) =>
    line.startsWith('\\') ? [] : [line.slice(1), lines[index + 1]?.startsWith('\\') ? '' : '\n'],
  );
}

/** Carriage returns that the text shows count, if the patch fits with them. */
function placeIn(
  lines: readonly string[],
  hunks: readonly Hunk[],
  written: LineEnds,
  options: Omit<PlacingOptions, 'ends'>,
): Placement {
  const placed = placeHunks(lines, hunks, { ...options, ends: written });
  const isAbsent = 'problems' in placed && placed.problems.some(({ kind }) => kind === 'absent');
  return isAbsent && written === 'exact'
    ? placeHunks(lines, hunks, { ...options, ends: 'of the file' })
    : placed;
}

function isNowhere(kind: HunkProblem['kind']): boolean {
  return kind === 'absent' || kind === 'no line';
}

/** Files of the same name in other folders. */
function likeNames(path: string, files: ReadonlySet<string>): string {
  const name = `/${path.split('/').at(-1)}`;
  const like = [...files].filter((file) => `/${file}`.endsWith(name)).slice(0, 3);
  return like.length === 0 ? '' : `; it has ${like.join(', ')}`;
}

function showsLineEnds({ hunks }: FilePatch): boolean {
  return hunks.some(({ lines }) => lines.some((line) => line.endsWith('\r')));
}
