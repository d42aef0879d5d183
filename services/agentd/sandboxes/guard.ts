import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { withoutInherited } from './output.ts';

/** Ends a command when this process dies and cannot do so itself. */
export interface Guard {
  /** What the command carries in its environment, so that its processes can be found. */
  readonly variables: Readonly<Record<string, string>>;
  /** Names the process group of the command, where its processes may give up their environment. */
  watch(group: number): void;
  /** The command has ended. */
  dismiss(): void;
}

export const guardVariable = 'CORE_SANDBOX';

/**
 * Standard input ends when Core dies, by SIGKILL too. Then the command's process group goes, and whoever carries `$1` in the
 * environment until nobody does, and the folder `$2`. A program that is being started has no environment for a moment, so that
 * five looks in a row must find nobody.
 */
const script = `
group=
while read -r line; do group=$line; done
[ -z "$group" ] || kill -KILL "-$group"
round=0
nobody=0
while [ $round -lt 100 ] && [ $nobody -lt 5 ]; do
  found=$(grep -lzxF -e "$1" /proc/[0-9]*/environ)
  nobody=$((nobody + 1))
  for file in $found; do
    nobody=0
    file=\${file%/environ}
    kill -KILL "\${file#/proc/}"
  done
  sleep 0.1
  round=$((round + 1))
done
[ -z "$2" ] || rm -rf -- "$2"`;

/**
 * Starts a guard over a command.
 * @param mark names the command among all of this machine
 * @param folder what the command writes to, removed with it
 */
export function startGuard(mark: string, folder = ''): Guard {
  // By Node's spawn, as in supervise.ts: execa cannot keep the descriptors beyond its own from a child.
  const guard = withoutInherited(3, (rest) =>
    spawn('/bin/sh', ['-c', script, 'sh', `${guardVariable}=${mark}`, folder], {
      cwd: '/',
      // A group of its own: what ends ours, Ctrl-C for one, shall not end the guard before its work.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', ...rest],
    }),
  );
  guard.on('error', () => {});
  guard.unref();
  const input = guard.stdin as Socket;
  input.on('error', () => {});
  input.unref();
  return {
    variables: { [guardVariable]: mark },
    watch: (group) => input.write(`${group}\n`),
    dismiss: () => guard.kill('SIGKILL'),
  };
}
