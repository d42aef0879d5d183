import type { TreeReader } from '../scratch-copy.ts';
import type { Candidate } from './candidates.ts';
import { quoteName } from './git-path.ts';
import { type ResolvedPatch, renderPatch, resolveNames } from './render-patch.ts';
import { type Suggestion, suggestionPatch } from './suggestion.ts';

/** One git patch of everything that a candidate proposes, in the forms worth trying; or why there is none. */
export type Assembled =
  | { readonly patches: readonly string[]; readonly paths: readonly string[] }
  | { readonly problems: readonly string[] };

/**
 * Forges store text with line ends of their own, so a patch does not tell whether it means CRLF. Lines take the ends of the file
 * that they change; where that does not fit, they are tried as plain line feeds.
 */
export async function assemble(candidate: Candidate, tree: TreeReader): Promise<Assembled> {
  if (candidate.problems.length > 0) return { problems: candidate.problems };
  if (candidate.files.length + candidate.suggestions.length === 0) {
    return { problems: ['the diff does not name a file: its `---` and `+++` lines are missing'] };
  }
  const files = new Set(await tree.list());
  const resolved = candidate.files.map((file) => resolveNames(file, files));
  const crlf = new Set<string>();
  for (const { old_path } of resolved) {
    if (old_path !== null && files.has(old_path) && (await hasCrlf(old_path, tree))) crlf.add(old_path);
  }
  const suggested = await suggestionPatches(candidate.suggestions, tree);
  if ('problems' in suggested) return suggested;
  const fitting = resolved.map((part) => renderPatch(part, crlf.has(part.old_path ?? ''))).join('');
  const plain = resolved.map((part) => renderPatch(part, false)).join('');
  const patches = (fitting === plain ? [fitting] : [fitting, plain]).map((text) => text + suggested.patch);
  const paths = [...resolved.map(pathOf), ...candidate.suggestions.map(({ path }) => path)];
  return { patches, paths: [...new Set(paths)] };
}

function pathOf({ new_path, old_path }: ResolvedPatch): string {
  return new_path ?? old_path ?? '';
}

async function hasCrlf(path: string, tree: TreeReader): Promise<boolean> {
  const content = await tree.read(path);
  return content !== null && Buffer.from(content).includes('\r\n');
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
