import { spellingMatcher } from '../git/path-spelling.ts';

/**
 * Finds of names those that one of the globs guards, in any spelling that a file system takes for the same; where in doubt, it does.
 * What guards everything in a folder guards the folder's own name too, which a link or a submodule can take.
 */
export function guarded(globs: readonly string[], names: readonly string[]): string[] {
  const matchers = globs
    .flatMap((glob) => (glob.endsWith('/**') ? [glob, glob.slice(0, -'/**'.length)] : [glob]))
    .map((glob) => spellingMatcher(glob, { dot: true, nonegate: true, nocomment: true }));
  return names.filter((name) => matchers.some((matches) => matches(name)));
}

/** Whether one of the globs guards this name. */
export function guards(globs: readonly string[], name: string): boolean {
  return guarded(globs, [name]).length > 0;
}

/** Why a glob fits no path that a change can have; null where it may. */
export function whyFitsNothing(glob: string): string | null {
  if (glob.startsWith('/') || glob.startsWith('./'))
    return 'must not start with / or ./, as paths begin at the root';
  if (glob.endsWith('/')) return 'must not end with /: all that is in a folder is folder/**';
  if (/\\[\p{L}\p{N}_.]/u.test(glob)) return 'must have / between folders, not a backslash';
  return null;
}
