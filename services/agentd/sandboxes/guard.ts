import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { withoutInherited } from './descriptors.ts';

/** Ends a command when this process dies and cannot do so itself. */
export interface Guard {
  /** Names the process group of the command. */
  watch(group: number): void;
  /** The command has ended. */
  dismiss(): void;
}

/**
 * Standard input ends when Core dies, by SIGKILL too. Then the command's process group goes, and whoever carries `$1` in the
 * environment until nobody does, and the folder `$2`.
 */
const script = `
group=
while read -r line; do group=$line; done
[ -z "$group" ] || kill -KILL "-$group"
round=0
while [ $round -lt 100 ]; do
  found=$(grep -lzxF -e "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || break
  for file in $found; do
    file=\${file%/environ}
    kill -KILL "\${file#/proc/}"
  done
  sleep 0.1
  round=$((round + 1))
done
rm -rf -- "$2"`;

/** Starts a guard over a command that will carry `mark`, a `NAME=value`, in its environment and write to `folder`. */
export function startGuard(mark: string, folder: string): Guard {
  const guard = withoutInherited(3, (rest) =>
    spawn('/bin/sh', ['-c', script, 'sh', mark, folder], {
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
    watch: (group) => input.write(`${group}\n`),
    dismiss: () => guard.kill('SIGKILL'),
  };
}
