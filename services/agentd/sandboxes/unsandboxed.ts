import type { ChildProcess } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTemporaryFolder } from '#kit/temporary-folder.ts';
import type { Sandbox, SandboxResult, SandboxRun } from '../ports/sandbox.ts';
import { refuseTooWeak, shellArguments } from './command-line.ts';
import { guardVariable, startGuard } from './guard.ts';
import {
  familyOf,
  hasInEnvironment,
  isAlive,
  killNow,
  type Process,
  processesIn,
  proportionalBytes,
} from './processes.ts';
import { cancelledResult, type Inside, supervise } from './supervise.ts';
import { makeMountPoints, networkVariables, type SandboxOptions, sandboxEnvironment } from './system-view.ts';

/**
 * No sandbox: the command sees what the person sees, network included. Only the limits hold, and a small environment. For repositories
 * that one trusts as oneself, by name in the configuration.
 */
export function createUnsandboxed(options: SandboxOptions): Sandbox {
  return {
    kind: 'none',
    async check() {
      if (process.platform === 'win32') return { works: false, reason: 'commands need a POSIX shell' };
      return { works: true, reason: 'commands run without a sandbox, with all that your account can do' };
    },
    run: (run) => runUnsandboxed(run, options),
  };
}

async function runUnsandboxed(run: SandboxRun, options: SandboxOptions): Promise<SandboxResult> {
  refuseTooWeak('none', run);
  if (run.signal?.aborted) return cancelledResult();
  const temporary = makeTemporaryFolder('core-run-');
  const guard = startGuard(temporary, temporary);
  try {
    // Copies: nothing here could keep the command from changing the originals.
    for (const { source, target } of await makeMountPoints(run)) {
      await cp(source, join(run.workspace, target), { recursive: true, verbatimSymlinks: true });
    }
    const { status, complaint, ...result } = await supervise(
      {
        file: '/bin/sh',
        args: shellArguments(run, false),
        cwd: run.workspace,
        env: {
          ...sandboxEnvironment(options.tools, temporary),
          ...(run.network ? networkVariables(options, (_, path) => path) : {}),
          ...guard.variables,
        },
        inside(child) {
          if (child.pid !== undefined) guard.watch(child.pid);
          return trackedProcesses(child, `${guardVariable}=${temporary}`);
        },
      },
      run,
    );
    return result;
  } finally {
    guard.dismiss();
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * The processes that a command started, without a namespace that would hold them together: its descendants, what was one of
 * them when last seen, and whoever carries `mark` in the environment. Where there is no /proc only its process group is known.
 */
function trackedProcesses(child: ChildProcess, mark: string): Inside {
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
      for (const { pid } of look()) killNow(pid);
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        killNow(-child.pid);
    },
    gone: () => look().length === 0,
  };
}
