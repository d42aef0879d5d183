import type { TreeReader } from '../git/tree.ts';

export interface SearchHit {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

export type ScratchEdit =
  /** `old_text` must occur exactly once. */
  | { readonly kind: 'replace'; readonly path: string; readonly old_text: string; readonly new_text: string }
  | { readonly kind: 'create'; readonly path: string; readonly content: string }
  | { readonly kind: 'delete'; readonly path: string }
  /** A git patch, applied whole or not at all. */
  | { readonly kind: 'patch'; readonly patch: string };

/** The planner's own copy of the repository at the base commit. Nothing outside it can be reached. */
export interface ScratchCopy extends TreeReader {
  search(text: string, options: { limit: number; path_prefix?: string }): Promise<SearchHit[]>;
  /** @throws InvalidInput (`path_not_allowed`, `edit_does_not_apply`, `file_exists`, `file_not_found`) and changes nothing. */
  edit(edit: ScratchEdit): Promise<void>;
  /** The change so far: a git tree and the binary-safe patch from the base to it. */
  diff(): Promise<{ readonly tree: string; readonly patch: Uint8Array }>;
}
