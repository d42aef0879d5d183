import type { ChildProcess } from 'node:child_process';
import {
  familyOf,
  hasInEnvironment,
  isAlive,
  type Process,
  processesIn,
  proportionalBytes,
} from './processes.ts';
import type { Inside } from './supervise.ts';

/**
 * The processes that a command started, without a namespace that would hold them together: its descendants, what was one of
 * them when last seen, and whoever carries `mark` in the environment. Where there is no /proc only its process group is known.
 */
export function trackedProcesses(child: ChildProcess, mark: string): Inside {
  let seen = new Map<number, Process>();

  function look(): Process[] {
    const all = processesIn('/proc');
    const roots = new Set(
      all.filter(({ pid, started }) => seen.get(pid)?.started === started).map(({ pid }) => pid),
    );
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) roots.add(child.pid);
    for (const { pid, started } of all) {
      if (!roots.has(pid) && started >= firstTick(all) && hasInEnvironment(pid, mark)) roots.add(pid);
    }
    const family = familyOf(all, roots).filter(({ pid, started }) => isAlive(pid, started));
    seen = new Map(family.map((process) => [process.pid, process]));
    return family;
  }

  /** Nothing that started before this process can be the command's; saves reading most environments. */
  function firstTick(all: readonly Process[]): number {
    return all.find(({ pid }) => pid === process.pid)?.started ?? 0;
  }

  return {
    proc: () => '/proc',
    processes: look,
    exactBytes: ({ pid }) => proportionalBytes('/proc', pid),
    temporaryBytes: () => 0,
    kill() {
      for (const { pid } of look()) signal(pid);
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) signal(-child.pid);
    },
    gone: () => look().length === 0,
  };
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended in between.
  }
}
