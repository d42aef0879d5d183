import type { ChildProcess } from 'node:child_process';
import { readlinkSync, statfsSync } from 'node:fs';
import { codeOf, Failed } from '#kit/errors.ts';
import type { SandboxResult } from '../ports/sandbox.ts';
import { isAlive, processAt, processesIn, proportionalBytes } from './processes.ts';
import type { Inside, Supervised } from './supervise.ts';

/**
 * How long a sandbox may take to name its first process. Until then it is not killed: whoever starts the namespace would die
 * between making it and tying it to its own life.
 */
const startMs = 5_000;

/**
 * The processes of a sandbox with a process namespace of its own. Its first process is named on the status descriptor as
 * `{"child-pid": N}`; when that one ends the kernel ends all the others, and it is gone only after them.
 */
export function namespaceOf(child: ChildProcess, status: () => string): Inside {
  const began = performance.now();
  let init: { pid: number; started: number } | null = null;
  let inPlace = false;

  function first(): { pid: number; started: number } | null {
    if (init) return init;
    const pid = /"child-pid": ?(\d+)/.exec(status())?.[1];
    const process = pid ? processAt(Number(pid)) : null;
    if (process) init = process;
    return init;
  }

  /** Its root, once it has moved there; null while it still sees the host's. */
  function root(): string | null {
    const process = first();
    if (!process) return null;
    const path = `/proc/${process.pid}/root`;
    inPlace ||= !seesThisProcess(path);
    return inPlace ? path : null;
  }

  return {
    proc: () => `${root() ?? ''}/proc`,
    processes() {
      const path = root();
      return path ? processesIn(`${path}/proc`) : [];
    },
    exactBytes({ pid }) {
      const path = root();
      return path ? proportionalBytes(`${path}/proc`, pid) : 0;
    },
    temporaryBytes() {
      const path = root();
      return path ? ['tmp', 'dev/shm'].reduce((sum, folder) => sum + usedBytes(`${path}/${folder}`), 0) : 0;
    },
    kill() {
      const process = first();
      if (process) {
        if (isAlive(process.pid, process.started)) kill(process.pid);
      } else if (performance.now() - began > startMs) {
        child.kill('SIGKILL');
      }
    },
    gone() {
      const process = first();
      return process === null || !isAlive(process.pid, process.started);
    },
  };
}

/**
 * The command's own exit status, from `{"exit-code": N}` on the status descriptor.
 * @throws Failed (`sandbox_failed`) when the sandbox ended before the command could
 */
export function resultOf(supervised: Supervised, tool: string): SandboxResult {
  const { status, complaint, stopped, ...result } = supervised;
  if (stopped) return result;
  const code = /"exit-code": ?(\d+)/.exec(status)?.[1];
  if (code !== undefined) return { ...result, exit_code: Number(code), ended_by: 'exit' };
  throw new Failed('sandbox_failed', `${tool} could not run the command: ${complaint || 'it said nothing'}`, {
    hint: 'See whether this machine or container allows user namespaces, or choose another sandbox in config/validation.json.',
  });
}

/** `self` in a proc file system leads somewhere only for processes of its namespace. */
function seesThisProcess(root: string): boolean {
  try {
    return readlinkSync(`${root}/proc/self`) !== '';
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
}

function usedBytes(folder: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(folder);
    return (blocks - bfree) * bsize;
  } catch {
    return 0;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended in between.
  }
}
