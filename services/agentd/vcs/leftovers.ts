import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseHolder } from '#kit/contracts/lease-holder.ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf } from '#kit/errors.ts';
import { type ChildWatch, killGroup } from '#kit/run-program.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { identify, isRunning } from '#kit/storage/process-identity.ts';
import type { Workspace } from '../ports/vcs.ts';

/**
 * What a killed process leaves behind of a clone: programs that still run, locks, and work half done. All of it is kept
 * track of in the folder `<clone_dir>.pids`: one file for each running program, and `busy` while the clone is changed.
 */
function trackFolder(workspace: Workspace): string {
  return `${workspace.clone_dir}.pids`;
}

export function watchChildren(workspace: Workspace): ChildWatch {
  const folder = trackFolder(workspace);
  return {
    started(pid) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(join(folder, String(pid)), JSON.stringify(identify(pid)));
    },
    ended(pid) {
      rmSync(join(folder, String(pid)), { force: true });
    },
  };
}

/** Runs a change of the clone. When it does not end well, `wasInterrupted` says so from then on. */
export async function changing<T>(workspace: Workspace, change: () => Promise<T>): Promise<T> {
  const mark = join(trackFolder(workspace), 'busy');
  mkdirSync(trackFolder(workspace), { recursive: true, mode: 0o700 });
  writeFileSync(mark, '');
  const result = await change();
  rmSync(mark, { force: true });
  return result;
}

export function wasInterrupted(workspace: Workspace): boolean {
  return existsSync(join(trackFolder(workspace), 'busy'));
}

export function forgetInterruption(workspace: Workspace): void {
  rmSync(join(trackFolder(workspace), 'busy'), { force: true });
}

/** True if recovering failed because of what the clone holds; it is rebuilt then, which loses nothing. */
export function isBeyondRepair(error: unknown): boolean {
  const codes = ['vcs_failed', 'git_failed', 'repository_locked', 'tree_differs', 'object_missing', 'ENOENT'];
  return codes.includes(codeOf(error));
}

/** Ends the programs that an earlier process left running in the clone, and waits until they are gone. */
export async function endLeftovers(workspace: Workspace): Promise<void> {
  const folder = trackFolder(workspace);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!/^\d+$/.test(name)) continue;
    const program = programIn(join(folder, name));
    if (program !== null && isRunning(program)) await endGroup(program);
    rmSync(join(folder, name), { force: true });
  }
}

/** null if it ended before it could be identified, or the crash cut the file. */
function programIn(path: string): LeaseHolder | null {
  try {
    const program = decodeJson(LeaseHolder, readSmallFile(path), path);
    return program.process_started === '' ? null : program;
  } catch {
    return null;
  }
}

async function endGroup(program: LeaseHolder): Promise<void> {
  killGroup(program.pid, 'SIGTERM');
  for (let waited = 0; waited < 3000 && isRunning(program); waited += 20) {
    if (waited === 1000) killGroup(program.pid, 'SIGKILL');
    await pause(20);
  }
  killGroup(program.pid, 'SIGKILL');
}

/** Removes git's lock files. Only after `endLeftovers`, under the executor's lease. */
export function removeLocks(gitDir: string): void {
  for (const name of ['index.lock', 'HEAD.lock', 'packed-refs.lock', 'config.lock', 'shallow.lock']) {
    rmSync(join(gitDir, name), { force: true });
  }
  const refs = join(gitDir, 'refs');
  for (const name of readdirSync(refs, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.lock')) rmSync(join(refs, name), { force: true });
  }
}
