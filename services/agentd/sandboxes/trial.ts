import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import type { Sandbox } from '../ports/sandbox.ts';

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
