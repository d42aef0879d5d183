import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { makePrivateFolder } from './durable-file.ts';
import { environment } from './environment.ts';

/**
 * Makes a folder for large, unrelated folders that come and go. With `T` of chattr(1) ext4 spreads them over the disk; without, it
 * reuses the room of the last one deleted, where creating thousands of files is several times slower. Best effort.
 */
export function makeSpreadFolder(path: string): void {
  if (existsSync(path)) return;
  makePrivateFolder(path);
  if (process.platform !== 'linux') return;
  spawnSync('chattr', ['+T', '--', path], {
    stdio: 'ignore',
    timeout: 2_000,
    env: environment.PATH === undefined ? {} : { PATH: environment.PATH },
  });
}
