import type { PatchFile } from './patch.ts';

/** A row of the tree of files. */
export interface TreeEntry {
  /** Index of the file; null for a folder. */
  readonly file: number | null;
  /** The file, or the first in the folder. */
  readonly first: number;
  readonly name: string;
  readonly depth: number;
}

const maxDepth = 6;

/** In the order of the patch, so that the tree and the diff go the same way. */
export function treeOf(files: readonly PatchFile[]): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  let open: readonly string[] = [];
  for (const [file, { path }] of files.entries()) {
    const parts = path.split('/');
    const folders = parts.slice(0, -1);
    const shared = folders.findIndex((folder, index) => open[index] !== folder);
    const from = shared === -1 ? folders.length : shared;
    for (let depth = from; depth < folders.length; depth++)
      entries.push({ file: null, first: file, name: folders[depth]!, depth: Math.min(depth, maxDepth) });
    open = folders;
    entries.push({ file, first: file, name: parts.at(-1)!, depth: Math.min(folders.length, maxDepth) });
  }
  return entries;
}
