import { execFileSync } from 'node:child_process';
import { atExit } from '../fixtures/at-exit.ts';

export type Cut = 'both ways' | 'what it sends' | 'what it gets';

const rules: Readonly<Record<Cut, readonly (readonly string[])[]>> = {
  'both ways': [
    ['OUTPUT', '-o'],
    ['INPUT', '-i'],
  ],
  'what it sends': [['OUTPUT', '-o']],
  'what it gets': [['INPUT', '-i']],
};

/** Network namespaces of this machine, one for each host, at a bridge. Needs root. */
export interface HostNetwork {
  /** This machine as hosts see it. */
  readonly outside: string;
  addressOf(host: string): string;
  /** Program and arguments that run another program in the host's network. */
  enter(host: string): readonly string[];
  /** Ids of all processes there. */
  pids(host: string): readonly number[];
  /** What is sent then is lost, and nobody learns of it. */
  cut(host: string, cut: Cut): void;
  heal(host: string): void;
  close(): void;
}

export function makeNetwork(hosts: readonly string[]): HostNetwork {
  const name = `core${process.pid % 10_000_000}`;
  const subnet = `10.${64 + (process.pid % 64)}.${(process.pid >> 6) % 256}`;
  const addressOf = (host: string) => `${subnet}.${hosts.indexOf(host) + 1}`;
  const namespace = (host: string) => `${name}-${host}`;
  // Docker has what bridges forward go through a chain that drops it.
  const between = ['FORWARD', '-i', name, '-o', name, '-j', 'ACCEPT'];
  const closed = atExit(close);
  ip('link', 'add', name, 'type', 'bridge');
  ip('addr', 'add', `${subnet}.254/24`, 'dev', name);
  ip('link', 'set', name, 'up');
  execFileSync('iptables', ['-I', ...between]);
  for (const host of hosts) {
    ip('netns', 'add', namespace(host));
    ip('link', 'add', `${name}${host}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace(host));
    ip('link', 'set', `${name}${host}`, 'master', name, 'up');
    ip('-n', namespace(host), 'addr', 'add', `${addressOf(host)}/24`, 'dev', 'eth0');
    for (const device of ['eth0', 'lo']) ip('-n', namespace(host), 'link', 'set', device, 'up');
  }

  function close(): void {
    closed();
    const undone = [
      ...hosts.map((host) => ['ip', 'netns', 'del', namespace(host)]),
      ['ip', 'link', 'del', name],
      ['iptables', '-D', ...between],
    ];
    for (const [program, ...args] of undone) {
      try {
        execFileSync(program!, args, { stdio: 'ignore' });
      } catch {
        // It was not made.
      }
    }
  }

  return {
    outside: `${subnet}.254`,
    addressOf,
    enter: (host) => ['ip', 'netns', 'exec', namespace(host)],
    pids: (host) => ip('netns', 'pids', namespace(host)).split('\n').filter(Boolean).map(Number),
    cut(host, cut) {
      for (const rule of rules[cut])
        ip('netns', 'exec', namespace(host), 'iptables', '-A', ...rule, 'eth0', '-j', 'DROP');
    },
    heal: (host) => void ip('netns', 'exec', namespace(host), 'iptables', '-F'),
    close,
  };
}

function ip(...args: readonly string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
