import { pathProblem } from '../../git/paths.ts';

const longestPath = 1024;

/** Why a tool must not write to a path, whatever the tree holds; null when it may. */
export function writeProblem(path: string): string | null {
  if (Buffer.byteLength(path) > longestPath) return `is longer than ${longestPath} bytes`;
  if (!path.isWellFormed()) return 'is not valid Unicode';
  return pathProblem(path);
}

/**
 * Why a path cannot be written in a tree with these entries, or null: something above it is no folder, or, on a file system that
 * knows no case, it would meet another entry.
 */
export function parentProblem(path: string, entries: ReadonlyMap<string, { mode: string }>): string | null {
  const folded = fold(path);
  const above = new Set(path.split('/').map((_, index, parts) => fold(parts.slice(0, index).join('/'))));
  for (const [other, { mode }] of entries) {
    if (other === path) continue;
    const foldedOther = fold(other);
    if (above.has(foldedOther)) return `lies below '${other}', which is ${whatIs(mode)} and no folder`;
    if (foldedOther === folded) return `differs from '${other}' in nothing but case`;
    if (foldedOther.startsWith(`${folded}/`)) return `is a folder, it holds '${other}'`;
  }
  return null;
}

function fold(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

function whatIs(mode: string): string {
  if (mode === '120000') return 'a symbolic link';
  return mode === '160000' ? 'a submodule' : 'a file';
}
