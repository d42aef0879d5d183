import { spawn } from 'node:child_process';
import { platform } from 'node:process';
import { withPersonsUmask } from '#kit/umask.ts';

const openers: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };

/**
 * Asks the desktop to show an address, and resolves when whatever did so has ended, which a browser may do much later.
 * Rejects where there is nothing that could, or what there is could not.
 * @param started called when something takes care of it
 */
export function openInBrowser(url: string, started: () => void): Promise<void> {
  const opener = openers[platform] ?? 'xdg-open';
  return new Promise((resolve, reject) => {
    const child = withPersonsUmask(() => spawn(opener, [url], { stdio: 'ignore', detached: true }));
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      started();
    });
    child.once('exit', (code) => {
      // Windows' explorer says 1 whatever came of it.
      if (code === 0 || platform === 'win32') resolve();
      else reject(new Error(`${opener} ended with ${code}`));
    });
  });
}
