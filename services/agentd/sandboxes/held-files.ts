import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import type { Process } from './processes.ts';

/** What `processes` keep open and no folder lists: files in memory (memfd_create), and deleted files of the disk that `workspace` is on. */
export function namelessBytes(
  proc: string,
  processes: readonly Process[],
  workspace: string,
): { readonly memory: number; readonly disk: number } {
  const { dev } = statSync(workspace);
  const memory = new Map<number, number>();
  const disk = new Map<number, number>();
  for (const { pid } of processes) {
    const folder = `${proc}/${pid}/fd`;
    for (const name of listed(folder)) {
      const path = `${folder}/${name}`;
      try {
        const inMemory = readlinkSync(path).startsWith('/memfd:');
        const facts = statSync(path);
        if (!facts.isFile() || facts.nlink > 0) continue;
        if (inMemory) memory.set(facts.ino, facts.blocks * 512);
        else if (facts.dev === dev) disk.set(facts.ino, facts.blocks * 512);
      } catch {
        // Closed in between.
      }
    }
  }
  return { memory: sum(memory), disk: sum(disk) };
}

/**
 * Bytes that a folder takes of its disk. `complete` is false where a part of it could not be read: whoever fills a folder
 * can take the right to read it away.
 */
export function folderBytes(folder: string): Promise<{ readonly bytes: number; readonly complete: boolean }> {
  return new Promise((resolve) => {
    execFile(
      'du',
      ['-skx', '--', folder],
      { env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } },
      (_, stdout, stderr) =>
        resolve({
          bytes: (Number.parseInt(stdout, 10) || 0) * 1024,
          complete: stdout !== '' && !/denied|File name too long/i.test(stderr),
        }),
    );
  });
}

function sum(sizes: ReadonlyMap<number, number>): number {
  return [...sizes.values()].reduce((total, size) => total + size, 0);
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
