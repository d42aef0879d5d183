import { spawn } from 'node:child_process';
import { platform } from 'node:process';

const openers: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };

/** Asks the desktop to show an address. Rejects where there is nothing that could. */
export function openInBrowser(url: string): Promise<void> {
  const opener = openers[platform] ?? 'xdg-open';
  return new Promise((resolve, reject) => {
    const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
