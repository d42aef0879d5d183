import { stat } from 'node:fs/promises';
import { requireReadable } from './archive-refusals.ts';
import type { Manifest } from './manifest.ts';
import type { Progress } from './progress.ts';
import { readArchive } from './read-archive.ts';

/** Reads a backup to its end without writing anything. @throws what `readArchive` throws */
export async function verifyBackup(
  file: string,
  { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
): Promise<Manifest> {
  await requireReadable(file);
  progress.begin('verifying', (await stat(file)).size);
  try {
    const nowhere = {
      folder: async () => {},
      async file(_place: unknown, _executable: boolean, content: AsyncIterable<Uint8Array>) {
        for await (const _bytes of content);
      },
    };
    return await readArchive(file, nowhere, { progress, signal });
  } finally {
    progress.end();
  }
}
