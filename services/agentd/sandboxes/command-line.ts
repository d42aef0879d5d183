import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import type { Sandbox, SandboxRun } from '../ports/sandbox.ts';

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

/**
 * Tries a sandbox for real: a command that succeeds only when it can write the workspace, cannot write the system, sees no other
 * process and no network but a loopback that is up. `null` when it kept all of that, else why not.
 */
export async function failedPromise(sandbox: Pick<Sandbox, 'run'>): Promise<string | null> {
  const workspace = await mkdtemp(join(tmpdir(), 'core-sandbox-'));
  try {
    const { exit_code, output } = await sandbox.run({
      workspace,
      mounts: [],
      command: promises,
      network: false,
      limits: { seconds: 20, memory_mib: 1024, processes: 64, disk_mib: 64, output_bytes: 4096 },
    });
    if (exit_code === 0) return null;
    return Buffer.from(output).toString('utf8').trim() || `the trial ended with status ${exit_code}`;
  } catch (error) {
    return messageOf(error);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

const promises = `
fail() { echo "$1"; exit 1; }
echo x >written || fail 'the workspace cannot be written'
( : >/usr/core-trial ) 2>/dev/null && fail 'the system can be written'
( : >/etc/core-trial ) 2>/dev/null && fail '/etc can be written'
( echo core >/proc/sys/kernel/domainname ) 2>/dev/null && fail 'settings of the kernel can be written'
[ "$(echo /proc/[0-9]* | wc -w)" -lt 16 ] || fail 'processes of the host can be seen'
while read -r device _; do case $device in Inter-*|face*|lo:*) ;; *) fail "the network $device can be seen" ;; esac; done </proc/net/dev
[ "$(cat /proc/net/fib_trie 2>/dev/null | grep -c 127.0.0.1)" -gt 0 ] || [ ! -r /proc/net/fib_trie ] || fail 'the loopback network is down'
exit 0`;
