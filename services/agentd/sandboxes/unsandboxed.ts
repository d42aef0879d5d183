import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox, SandboxResult, SandboxRun } from '../execution/sandbox.ts';
import type { SandboxOptions } from './bubblewrap.ts';
import { shellArguments } from './command-line.ts';
import { startGuard } from './guard.ts';
import { makeMountPoints } from './mount-points.ts';
import { cancelledResult, supervise } from './supervise.ts';
import { sandboxEnvironment } from './system-view.ts';
import { trackedProcesses } from './tracked-processes.ts';

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
  if (run.signal?.aborted) return cancelledResult();
  const temporary = await mkdtemp(join(tmpdir(), 'core-run-'));
  const mark = `CORE_SANDBOX=${temporary}`;
  const guard = startGuard(mark, temporary);
  try {
    // Copies: nothing here could keep the command from changing the originals.
    for (const { source, target } of await makeMountPoints(run)) {
      await cp(source, join(run.workspace, target), { recursive: true, verbatimSymlinks: true });
    }
    const { status, complaint, stopped, ...result } = await supervise(
      {
        file: '/bin/sh',
        args: shellArguments(run, false),
        cwd: run.workspace,
        env: {
          ...sandboxEnvironment(options.tools, temporary),
          ...(run.network ? options.networkEnvironment : {}),
          CORE_SANDBOX: temporary,
        },
        inside(child) {
          if (child.pid !== undefined) guard.watch(child.pid);
          return trackedProcesses(child, mark);
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
