import { rm } from 'node:fs/promises';
import { InvalidInput, messageOf, Refused } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import { makeTemporaryFolder } from '#kit/temporary-folder.ts';
import type { Sandbox, SandboxRun } from '../ports/sandbox.ts';

/** Threads count as processes for the kernel; the processes themselves are counted by looking. */
export const threadsPerProcess = 16;

/**
 * What `sh -c` runs inside: joins standard error to standard output so that their order is kept (not of an interactive command,
 * whose standard output is its own), makes the kernel choose this before anything else when memory ends, sets the umask that most people have and the limits that the kernel keeps, and
 * becomes the command. Open files bound how much memory pipes and sockets can hold where no control group counts it.
 */
const prelude = `umask 022
echo 1000 >/proc/self/oom_score_adj
ulimit -c 0
ulimit -f "$1"
ulimit -n 4096
[ "$2" = 0 ] || ulimit -u "$2" || ulimit -p "$2"
mkdir -p "$HOME"
shift 2`;

/**
 * Arguments for `sh`, the command among them. Inside a user namespace of its own only, processes are limited by the kernel too.
 * @param relay words of the program that opens the doors; none without doors
 */
export function shellArguments(
  run: SandboxRun,
  ownNamespace: boolean,
  relay: readonly string[] = [],
): string[] {
  const quiet = prelude.replaceAll(/^(echo|ulimit|\[|mkdir) .*$/gm, '{ $&; } 2>/dev/null');
  const errors = run.interactive ? `exec 2>&${errorDescriptor} ${errorDescriptor}>&-` : 'exec 2>&1';
  const processes = ownNamespace ? run.limits.processes * threadsPerProcess : 0;
  const limits = [String(run.limits.disk_mib * 2048), String(processes)];
  const script = [errors, quiet, ...beforeCommand(run.setup, relay), 'exec "$@"'].join('\n');
  return ['-c', script, 'sh', ...limits, 'sh', '-c', run.command];
}

/**
 * The setup runs while the relay starts, and the command waits for both. The relay is nobody's child, so that a command which waits for
 * all of its own ends; it says `open` in a pipe once it listens.
 */
function beforeCommand(setup: string | undefined, relay: readonly string[]): string[] {
  const prepare = setup === undefined ? [] : [`(\n${setup}\n) </dev/null >&2 5>&-`];
  if (relay.length === 0) return prepare;
  return [
    'mkfifo -m 600 /tmp/doors && exec 5<>/tmp/doors && rm /tmp/doors || exit 126',
    `( { ${relay.map(shellWord).join(' ')} >&5 || echo closed >&5; } & )`,
    ...prepare,
    'read -r doors <&5',
    'exec 5>&-',
    `[ "$doors" = open ] || { echo 'the doors of the sandbox did not open' >&2; exit 126; }`,
  ];
}

/** Where an interactive command finds what becomes its standard error. */
export const errorDescriptor = 4;

/**
 * Tries a sandbox for real: a command that succeeds only when it can write the workspace, cannot write the system, sees no other
 * process and no network but a loopback that is up. `null` when it kept all of that, else why not.
 * @throws InvalidInput for folders of tools that no sandbox may show: another sandbox would not help
 */
export async function failedPromise(sandbox: Pick<Sandbox, 'run'>): Promise<string | null> {
  const workspace = makeTemporaryFolder('core-sandbox-');
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
    if (error instanceof InvalidInput) throw error;
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

/** @throws Refused (`sandbox_too_weak`) for a run that only bubblewrap can keep */
export function refuseTooWeak(kind: Sandbox['kind'], run: SandboxRun): void {
  const { interactive, doors, setup, environment, programs, home } = run;
  const asked = Object.entries({ interactive, doors, setup, environment, programs, home })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  if (asked.length === 0) return;
  throw new Refused(
    'sandbox_too_weak',
    `the sandbox '${kind}' cannot keep a run with ${asked.join(', ')}; only bubblewrap can`,
    { hint: 'Install bubblewrap, and see with `./core doctor` whether it works here.' },
  );
}
