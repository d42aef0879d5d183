import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MoveOptions, MovePart } from '#kit/storage-move/part.ts';
import { sessionsName } from './file-sign-in-store.ts';

/**
 * Who is signed in is not moved: whoever signed out on the one side would be signed in again with what the other one has kept since an
 * earlier move. So that the target begins without any, and people sign in again.
 */
export function signInsPart({ folders, to, database }: MoveOptions): MovePart {
  return {
    name: 'sign-ins',
    count: async () => 0,
    prepare: async () => {},
    async copy() {
      if (to === 'files') return rmSync(join(folders.state, sessionsName), { force: true });
      for (const table of ['review_sessions', 'review_links', 'review_attempts'])
        await database.query(`DELETE FROM ${table}`);
    },
    compare: async () => ({ entries: 0, sha256: '' }),
    foreignFiles: async () => null,
    close: async () => {},
  };
}
