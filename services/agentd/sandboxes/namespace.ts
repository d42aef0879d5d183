import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readlinkSync, statfsSync } from 'node:fs';
import { codeOf, Failed } from '#kit/errors.ts';
import type { SandboxResult, SandboxRun } from '../ports/sandbox.ts';
import { startGuard } from './guard.ts';
import { shownCertificate } from './host-certificates.ts';
import { isAlive, killNow, processAt, processesIn, proportionalBytes } from './processes.ts';
import { cancelledResult, type Inside, type Launch, supervise } from './supervise.ts';
import {
  type Mount,
  makeMountPoints,
  networkVariables,
  type SandboxOptions,
  sandboxEnvironment,
} from './system-view.ts';

/**
 * How long a sandbox may take to name its first process. Until then it is not killed: whoever starts the namespace would die
 * between making it and tying it to its own life.
 */
const startMs = 5_000;

/**
 * The processes of a sandbox with a process namespace of its own. Its first process is named on the status descriptor as
 * `{"child-pid": N}`; when that one ends the kernel ends all the others, and it is gone only after them.
 */
function namespaceOf(child: ChildProcess, status: () => string): Inside {
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
        if (isAlive(process.pid, process.started)) killNow(process.pid);
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
 * Runs a command by `tool` in a namespace of its own.
 * @param launch file and arguments, with the folders that are mounted
 * @throws Failed (`sandbox_failed`) when the sandbox ended before the command could
 */
export async function runInNamespace(
  run: SandboxRun,
  options: SandboxOptions,
  tool: string,
  launch: (mounts: readonly Mount[]) => Promise<Pick<Launch, 'file' | 'args' | 'inputs'>>,
): Promise<SandboxResult> {
  if (run.signal?.aborted) return cancelledResult();
  const program = await launch(await makeMountPoints(run));
  if (run.signal?.aborted) return cancelledResult();
  // Whoever makes the namespace ties it to the life of this process only after some milliseconds.
  const guard = startGuard(randomUUID());
  const env = {
    ...sandboxEnvironment(options.tools),
    ...(run.network ? networkVariables(options, shownCertificate) : {}),
    ...guard.variables,
  };
  const supervised = await supervise({ ...program, env, inside: namespaceOf }, run).finally(guard.dismiss);
  const { status, complaint, ...result } = supervised;
  if (result.note !== null) return result;
  // The command's own exit status.
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
