import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from '#kit/errors.ts';
import { type ChildWatch, killGroup } from '#kit/git/git.ts';
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
      writeFileSync(join(folder, String(pid)), startOf(pid) ?? '');
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
  return ['vcs_failed', 'git_failed', 'tree_differs', 'object_missing', 'ENOENT'].includes(codeOf(error));
}

/** Ends the programs that an earlier process left running in the clone, and waits until they are gone. */
export async function endLeftovers(workspace: Workspace): Promise<void> {
  const folder = trackFolder(workspace);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid <= 1) continue;
    const started = readFileSync(join(folder, name), 'utf8');
    if (started !== '' && started === startOf(pid)) await endGroup(pid);
    rmSync(join(folder, name), { force: true });
  }
}

async function endGroup(pid: number): Promise<void> {
  killGroup(pid, 'SIGTERM');
  for (let waited = 0; waited < 3000 && isRunning(pid); waited += 20) {
    if (waited === 1000) killGroup(pid, 'SIGKILL');
    await pause(20);
  }
  killGroup(pid, 'SIGKILL');
}

function isRunning(pid: number): boolean {
  const state = linuxStat(pid)?.[0];
  return state === undefined ? killGroup(pid, 0) && process.platform !== 'linux' : state !== 'Z';
}

/** When a process started, in a form that no later process of the same id repeats; null when there is none. */
function startOf(pid: number): string | null {
  if (process.platform === 'linux') {
    const ticks = linuxStat(pid)?.[19];
    return ticks === undefined
      ? null
      : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${ticks}`;
  }
  try {
    const args = ['-o', 'lstart=', '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || null;
  } catch {
    return null;
  }
}

/** Fields of `/proc/<pid>/stat` from the third on, which is the state; see proc(5). */
function linuxStat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
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
