import type { Folders } from '#kit/folders.ts';
export function workerReadiness(_folders: Folders): () => string | null {
  return () => 'started';
}
