import type { ChildProcess } from 'node:child_process';

/** Resolves when what a process said so far matches; rejects with it when the process ends before. Its output goes on being read. */
export function saidUntil(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let said: string | null = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        if (said === null) return;
        said += text;
        const found = pattern.exec(said);
        if (found === null) return;
        said = null;
        resolve(found);
      });
    }
    child.once('error', reject);
    child.once('close', () => reject(new Error(`${child.spawnfile} ended: ${said}`)));
  });
}
