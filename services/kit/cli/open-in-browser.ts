import { platform } from 'node:process';
import { withPersonsUmask } from '../umask.ts';

const openers: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };

/**
 * Asks the desktop to show an address, and resolves when whatever did so has ended, which a browser may do much later.
 * Rejects where there is nothing that could, or what there is could not.
 * @param started called when something takes care of it
 */
export async function openInBrowser(url: string, started: () => void): Promise<void> {
  const { execa } = await import('execa');
  const opener = openers[platform] ?? 'xdg-open';
  const child = withPersonsUmask(() =>
    execa(opener, [url], { stdio: 'ignore', detached: true, cleanup: false, reject: false }),
  );
  child.once('spawn', () => {
    child.unref();
    started();
  });
  const ended = await child;
  // Windows' explorer says 1 whatever came of it.
  if (ended.exitCode === 0 || (platform === 'win32' && ended.exitCode !== undefined)) return;
  throw new Error(
    ended.exitCode === undefined ? ended.shortMessage : `${opener} ended with ${ended.exitCode}`,
  );
}
