import { setTimeout as pause } from 'node:timers/promises';
import type { Host } from './host.ts';
import type { Losses } from './losses.ts';
import type { HostNetwork } from './network.ts';
import type { Operator } from './operator.ts';
import { between, oneOf, type Random, shuffled } from './random.ts';
import { bucket, type Surroundings } from './surroundings.ts';

interface Place {
  readonly host: Host;
  readonly losses: Losses;
  readonly operator: Operator;
  readonly network: HostNetwork;
  readonly around: Surroundings;
  readonly random: Random;
}

interface Fault {
  /** What it happens to; two faults of one thing do not overlap. */
  readonly of: 'host' | 'database' | 'bucket';
  /** Seconds until its end. */
  readonly lasts: readonly [number, number];
  /** @returns what is said of it, and its end */
  begin(place: Place): Promise<{ readonly detail?: string; readonly end?: () => unknown }>;
}

const services = ['agentd', 'model-gateway', 'bridge', 'context', 'bus-worker', 'bus-engine'];
/** Seconds; leases last 30. */
const pastLease = [33, 42] as const;
/** Of runs that changed within these milliseconds the database may lack something after a fail-over. */
const putBackMs = 60_000;

const cutting = (cut: Parameters<HostNetwork['cut']>[1]): Fault => ({
  of: 'host',
  lasts: [5, 42],
  async begin({ host, network }) {
    network.cut(host.name, cut);
    return { end: () => network.heal(host.name) };
  },
});

export const faults = {
  'a service is killed': {
    of: 'host',
    lasts: [2, 4],
    async begin({ host, random }) {
      const service = oneOf(random, services);
      host.signal('SIGKILL', service);
      return { detail: service };
    },
  },
  'the host is killed': {
    of: 'host',
    lasts: [0, 15],
    async begin({ host }) {
      await host.kill();
      return { end: () => host.boot() };
    },
  },
  'the network is cut both ways': cutting('both ways'),
  'what the host sends is lost': cutting('what it sends'),
  'what the host gets is lost': cutting('what it gets'),
  'the host is paused past its leases': {
    of: 'host',
    lasts: pastLease,
    async begin({ host }) {
      host.signal('SIGSTOP');
      host.signal('SIGSTOP');
      return { end: () => host.signal('SIGCONT') };
    },
  },
  'a service is paused past its leases': {
    of: 'host',
    lasts: pastLease,
    async begin({ host, random }) {
      const service = oneOf(random, services.slice(0, 4));
      host.signal('SIGSTOP', service);
      return { detail: service, end: () => host.signal('SIGCONT', service) };
    },
  },
  'the disk is full': {
    of: 'host',
    lasts: [5, 20],
    async begin({ host }) {
      host.fillDisk();
      return { end: () => host.freeDisk() };
    },
  },
  'the database crashes and starts again': {
    of: 'database',
    lasts: [0, 0],
    async begin({ around }) {
      await around.pair.restart();
      return {};
    },
  },
  'all connections to the database are ended': {
    of: 'database',
    lasts: [0, 0],
    async begin({ around }) {
      const text =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'core-%'";
      await around.pair.ask(around.database, text);
      return {};
    },
  },
  'the standby takes over': {
    of: 'database',
    lasts: [0, 0],
    async begin({ around }) {
      await around.pair.failOver();
      await around.pair.addStandby();
      return {};
    },
  },
  'the standby takes over without the last transactions': {
    of: 'database',
    lasts: [2, 8],
    async begin({ around: { pair }, losses, operator }) {
      const endLoss = losses.begin();
      await pair.cutReplication();
      return {
        async end() {
          await pair.failOver();
          endLoss();
          await pair.addStandby();
          await operator.putBackAll(putBackMs);
        },
      };
    },
  },
  'the bucket is killed': {
    of: 'bucket',
    lasts: [2, 20],
    async begin({ around }) {
      await around.s3.kill();
      return { end: () => around.s3.restart() };
    },
  },
  'the bucket is paused': {
    of: 'bucket',
    lasts: [5, 20],
    async begin({ around }) {
      around.s3.signal('SIGSTOP');
      return { end: () => around.s3.signal('SIGCONT') };
    },
  },
  'the bucket is cut off': {
    of: 'bucket',
    lasts: [5, 20],
    async begin({ network }) {
      network.cut(bucket, 'both ways');
      return { end: () => network.heal(bucket) };
    },
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as FaultName[];
/** After which what was acknowledged may be gone. */
export const losing: FaultName = 'the standby takes over without the last transactions';

interface FaultParts extends Omit<Place, 'host'> {
  readonly hosts: readonly Host[];
  readonly kinds: readonly FaultName[];
  readonly everyMs: number;
  readonly ending: AbortSignal;
  readonly say: (text: string) => void;
}

/** Each kind of fault once in random order, and again, until the end; then heals all that is broken. @returns how often each came, and what could not be done */
export async function breakThings(
  parts: FaultParts,
): Promise<{ readonly counts: ReadonlyMap<FaultName, number>; readonly failures: readonly string[] }> {
  const { hosts, kinds, random, everyMs, ending, say } = parts;
  const counts = new Map<FaultName, number>();
  const failures: string[] = [];
  /** Hosts that are broken now, and the database or bucket while it is. */
  const broken = new Set<Host | 'database' | 'bucket'>();
  const under = new Set<Promise<void>>();
  let bag: FaultName[] = [];
  while (!ending.aborted) {
    const next = performance.now() + everyMs;
    if (bag.length === 0) bag = shuffled(random, kinds);
    const well = hosts.filter((host) => !broken.has(host));
    // One host is left alone at any time, but for moments.
    const fits = (name: FaultName) => {
      const { of, lasts } = faults[name];
      return of === 'host' ? well.length > 1 || (well.length > 0 && lasts[1] < 5) : !broken.has(of);
    };
    const name = bag.find(fits) ?? shuffled(random, kinds).find(fits);
    if (name !== undefined) {
      bag = bag.filter((other) => other !== name);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const work = happen(name, oneOf(random, well.length > 0 ? well : hosts))
        .catch((error) => void failures.push(`${name}: ${error}`))
        .finally(() => under.delete(work));
      under.add(work);
    }
    await pause(Math.max(0, next - performance.now()), undefined, { signal: ending }).catch(() => {});
  }
  await Promise.all(under);
  return { counts, failures };

  async function happen(name: FaultName, host: Host): Promise<void> {
    const fault: Fault = faults[name];
    const target = fault.of === 'host' ? host : fault.of;
    broken.add(target);
    const seconds = between(random, ...fault.lasts);
    const { detail, end } = await fault.begin({ ...parts, host });
    const where = fault.of === 'host' ? `host ${host.name}: ` : '';
    const what = [detail, ...(seconds > 0 ? [`${seconds} s`] : [])].filter(Boolean).join(', ');
    say(`${where}${name}${what === '' ? '' : ` (${what})`}`);
    await pause(seconds * 1000);
    await end?.();
    broken.delete(target);
  }
}
