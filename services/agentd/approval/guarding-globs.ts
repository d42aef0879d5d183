import { Minimatch } from 'minimatch';

/**
 * Finds of names those that one of the globs guards, where in doubt it does: file systems take names for the same that differ in case,
 * in how letters are composed, or in signs that nobody sees. What guards everything in a folder guards the folder's own name too, which
 * a link or a submodule can take.
 */
export function guarded(globs: readonly string[], names: readonly string[]): string[] {
  const patterns = globs
    .map(fold)
    .flatMap((glob) => (glob.endsWith('/**') ? [glob, glob.slice(0, -'/**'.length)] : [glob]))
    .map((glob) => new Minimatch(glob, { dot: true, nonegate: true, nocomment: true }));
  return names.filter((name) => {
    const folded = fold(name);
    return patterns.some((pattern) => pattern.match(folded));
  });
}

/** Whether one of the globs guards this name. */
export function guards(globs: readonly string[], name: string): boolean {
  return guarded(globs, [name]).length > 0;
}

/** By both cases: `ß` is `SS` in upper case alone, and the Kelvin sign `k` in lower case alone. */
function fold(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFD');
}

/** Why a glob fits no path that a change can have; null where it may. */
export function whyFitsNothing(glob: string): string | null {
  if (glob.startsWith('/') || glob.startsWith('./'))
    return 'must not start with / or ./, as paths begin at the root';
  if (glob.endsWith('/')) return 'must not end with /: all that is in a folder is folder/**';
  if (/\\[\p{L}\p{N}_.]/u.test(glob)) return 'must have / between folders, not a backslash';
  return null;
}
