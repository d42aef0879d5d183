import type { SandboxRun } from '../ports/sandbox.ts';

/** Threads count as processes for the kernel; the processes themselves are counted by looking. */
export const threadsPerProcess = 16;

/**
 * What `sh -c` runs inside: joins standard error to standard output so that their order is kept, makes the kernel choose
 * this before anything else when memory ends, sets the umask that most people have and the limits that the kernel keeps, and
 * becomes the command. Open files bound how much memory pipes and sockets can hold where no control group counts it.
 */
const prelude = `exec 2>&1
umask 022
echo 1000 >/proc/self/oom_score_adj
ulimit -c 0
ulimit -f "$2"
ulimit -n 4096
[ "$3" = 0 ] || ulimit -u "$3" || ulimit -p "$3"
mkdir -p "$HOME"
exec sh -c "$1"`;

/** Arguments for `sh`, the command among them. Inside a user namespace of its own only, processes are limited by the kernel too. */
export function shellArguments(run: SandboxRun, ownNamespace: boolean): string[] {
  const quiet = prelude.replaceAll(/^(echo|ulimit|\[|mkdir) .*$/gm, '{ $&; } 2>/dev/null');
  const processes = ownNamespace ? run.limits.processes * threadsPerProcess : 0;
  return ['-c', quiet, 'sh', run.command, String(run.limits.disk_mib * 2048), String(processes)];
}
