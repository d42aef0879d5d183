import { posix } from 'node:path';

/** Where a change works: the upper folders and kinds of its files, for example `src/http *.ts`. Sorted, each once. */
export function areasOf(files: readonly string[]): string[] {
  const areas = files.map((file) => {
    const folders = posix.dirname(file).split('/').slice(0, 2).join('/');
    const extension = posix.extname(file);
    return `${folders} ${extension === '' ? posix.basename(file) : `*${extension}`}`;
  });
  return [...new Set(areas)].sort();
}

/** 0 to 1: how much of the smaller one lies in the other; 1 where one of them is nowhere. */
export function areaOverlap(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return 1;
  const known = new Set(other);
  return one.filter((area) => known.has(area)).length / Math.min(one.length, other.length);
}
