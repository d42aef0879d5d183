import type { TreeReader } from '../../git/tree.ts';
import type { Candidate } from './candidates.ts';
import type { FilePatch } from './file-patch.ts';
import { quoteName } from './git-path.ts';
import { type LineEnds, type ResolvedPatch, renderPatch, resolveNames } from './render-patch.ts';
import { type Suggestion, suggestionPatch } from './suggestion.ts';

/** Each costs a run of git to look at. */
const maxFiles = 500;

/** One git patch of everything that a candidate proposes, in the forms worth trying; or why there is none. */
export type Assembled =
  | { readonly patches: readonly string[]; readonly paths: readonly string[] }
  | { readonly problems: readonly string[] };

/**
 * Most forges store text with line ends of their own, so a patch seldom tells whether it means CRLF. Where it does, it is taken
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
    const content = textOf(await tree.read(path));
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

function textOf(content: Uint8Array | null): string | null {
  if (content === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}
