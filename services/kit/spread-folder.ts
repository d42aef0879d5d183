import { existsSync } from 'node:fs';
import { makePrivateFolder } from './durable-file.ts';
import { runProgram } from './run-program.ts';

/**
 * Makes a folder for large, unrelated folders that come and go. With `T` of chattr(1) ext4 spreads them over the disk; without, it
 * reuses the room of the last one deleted, where creating thousands of files is several times slower. Best effort.
 */
export async function makeSpreadFolder(path: string): Promise<void> {
  if (existsSync(path)) return;
  makePrivateFolder(path);
  if (process.platform !== 'linux') return;
  await runProgram('chattr', ['+T', '--', path], { signal: AbortSignal.timeout(2_000) }).catch(() => {});
}
