import type { FilePatch } from '#kit/git/patch.ts';
import { indexIds } from './named-blobs.ts';
import { type ResolvedPatch, resolveNames } from './render-patch.ts';

/**
 * The first files of a patch that all refer to the same tree: it ends before a file that needs the result of an earlier one.
 * Renames and copies of one diff read the files before the change.
 * @param files of the tree
 * @param exists true for every entry of the tree, links included
 */
export function stepOf(
  patch: readonly FilePatch[],
  files: ReadonlySet<string>,
  exists: (path: string) => boolean,
): ResolvedPatch[] {
  const step: ResolvedPatch[] = [];
  /** The last part of the step about each path. */
  const touched = new Map<string, ResolvedPatch>();
  for (const file of patch) {
    const one = resolveNames(file, files);
    if (needsEarlier(one, touched, exists)) break;
    step.push(one);
    if (one.old_path !== null && !isCopy(file)) touched.set(one.old_path, one);
    if (one.new_path !== null) touched.set(one.new_path, one);
  }
  return step;
}

function needsEarlier(
  { file, old_path, new_path }: ResolvedPatch,
  touched: ReadonlyMap<string, ResolvedPatch>,
  exists: (path: string) => boolean,
): boolean {
  const target = new_path === null ? undefined : touched.get(new_path);
  // git writes a change of a file into a link, or of a link into a file, as a deletion and a creation.
  if (old_path === null) return target !== undefined && target.new_path !== null;
  const earlier = touched.get(old_path);
  if (earlier === undefined) return target !== undefined;
  const wasRenamed = earlier.new_path !== null && earlier.new_path !== old_path;
  if (file.moved.old === null) return !(wasRenamed && isRewrite(file));
  if (earlier.new_path === null) return true;
  if (wasRenamed) return !isCopy(file);
  if (earlier.old_path !== old_path) return !exists(old_path);
  if (isRewrite(earlier.file)) return false;
  return !isCopy(file) || follows(earlier.file, file) === true;
}

/** True for a copy of a file that the same step changes, if nothing says which content it copies. */
export function isUncertainCopy({ file, old_path }: ResolvedPatch, step: readonly ResolvedPatch[]): boolean {
  const change = step.find((one) => one.old_path === old_path && one.new_path === old_path);
  return (
    isCopy(file) && change !== undefined && !isRewrite(change.file) && follows(change.file, file) === null
  );
}

export function isCopy({ extended }: FilePatch): boolean {
  return extended.some((line) => line.startsWith('copy from '));
}

/** git breaks a file that has little in common with its former content in two: the old one may be renamed. */
function isRewrite({ extended }: FilePatch): boolean {
  return extended.some((line) => line.startsWith('dissimilarity index '));
}

/** True if the later part begins with the result of the earlier one, false if with the same content; null if nothing says so. */
function follows(earlier: FilePatch, later: FilePatch): boolean | null {
  const [one, other] = [indexIds(earlier), indexIds(later)];
  if (one === null || other === null) return null;
  const isSame = (a: string, b: string) => a.startsWith(b) || b.startsWith(a);
  if (isSame(one.before, other.before)) return false;
  return isSame(one.after, other.before) ? true : null;
}
