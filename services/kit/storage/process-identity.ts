import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { LeaseHolder } from '../contracts/lease-holder.ts';

let self: LeaseHolder | undefined;

export function thisProcess(): LeaseHolder {
  self ??= identify(process.pid);
  return self;
}

/** A process of this machine, in a form that no later process with the same id repeats. */
export function identify(pid: number): LeaseHolder {
  return {
    boot_id: readText('/proc/sys/kernel/random/boot_id') ?? hostname(),
    pid_namespace: pidNamespace(),
    pid,
    process_started: processStarted(pid) ?? '',
    host: hostname(),
  };
}

/**
 * Whether the holder's process runs: true or false when this process can see it, null when it lives where we cannot look
 * (another container, another machine, before a reboot).
 */
export function isRunning(holder: LeaseHolder): boolean | null {
  const us = thisProcess();
  if (holder.boot_id !== us.boot_id || holder.pid_namespace !== us.pid_namespace) return null;
  if (holder.pid === us.pid) return holder.process_started === us.process_started;
  if (us.process_started !== '') return processStarted(holder.pid) === holder.process_started;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Field 22 of /proc/PID/stat (proc(5)), elsewhere what ps(1) says; null when there is no such process or it has ended and waits for its parent. */
function processStarted(pid: number): string | null {
  if (process.platform !== 'linux') return startedByPs(pid);
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return null;
  return rest[18] ?? null;
}

/** Waits for ps, as the callers cannot: only where there is no /proc. */
function startedByPs(pid: number): string | null {
  try {
    const args = ['-o', 'lstart=', '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || null;
  } catch {
    return null;
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return 'unknown';
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
