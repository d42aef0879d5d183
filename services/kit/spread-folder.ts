import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { makePrivateFolder } from './durable-file.ts';
import { environment } from './environment.ts';

/**
 * Makes a folder for large folders that come and go and have nothing to do with each other. ext4 is told so (`T` of chattr(1)) and
 * spreads them over the disk; else it would look for room where the last one was deleted, which makes thousands of new files several
 * times slower. Where that cannot be told, nothing is lost but the time.
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
