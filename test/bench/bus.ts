import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runningService } from '#kit/config/running-service.ts';
import type { Kind, Target } from './bus/peers.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const rounds = 7;
const calls = 8_000;
const atATime = 64;

/** Sync calls of a small payload: caller, engine and worker in processes of their own. */
export const bus: Benchmark = {
  summary: `${atATime} calls at a time through the bus, compared with a bare relay`,
  async run(folder) {
    const children: ChildProcess[] = [];
    try {
      return await measure(folder, children);
    } finally {
      for (const child of children) await end(child);
    }
  },
};

interface Measured {
  readonly rate: number;
  readonly p99: number;
}

async function measure(folder: string, children: ChildProcess[]) {
  const start = (path: string, args: readonly string[] = []): ChildProcess => {
    const file = fileURLToPath(new URL(path, import.meta.url));
    const env = { ...process.env, CORE_LOG_LEVEL: 'warn' };
    const child = fork(file, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    children.push(child);
    return child;
  };
  const [provider, caller] = [start('./bus/provider.ts'), start('./bus/caller.ts')];
  const relay = { url: (await message<{ url: string }>(start('./bus/relay.ts'))).url, headers: {} };
  const engine = await startEngine(join(folder, 'engine'), start);
  const crowded = await startEngine(join(folder, 'crowded'), start);
  await ask(provider, { crowd: { kind: 'raw', ...crowded }, workers: 198, functions: 10_000 });

  const samples: Record<string, Measured[]> = {};
  async function turn(name: string, where: Omit<Target, 'kind'>, kind: Kind) {
    const target = { kind, ...where };
    await ask(provider, { provide: target });
    await ask(caller, { name, target });
    samples[name] = [];
    return async (): Promise<number> => {
      const measured = await ask<Measured>(caller, { name, calls, atATime });
      samples[name]!.push(measured);
      return measured.rate;
    };
  }
  // One after the other: of two workers with one function, the later one answers.
  for (const kind of ['sdk', 'raw'] as const) {
    const here: Record<string, () => Promise<number>> = {};
    here[`relay-${kind}`] = await turn(`relay-${kind}`, relay, kind);
    here[`engine-${kind}`] = await turn(`engine-${kind}`, engine, kind);
    here[`crowded-${kind}`] = await turn(`crowded-${kind}`, crowded, kind);
    await takeTurns(rounds, here);
  }
  const of = (name: string, what: keyof Measured) => samples[name]!.slice(1).map((one) => one[what]);
  const yardstick = 'a bare relay';
  return [
    compare(
      { subject: 'calls, iii-sdk at both ends', yardstick, measure: 'rate', bar: 0.5 },
      of('engine-sdk', 'rate'),
      of('relay-sdk', 'rate'),
    ),
    compare(
      { subject: 'p99 of calls, iii-sdk at both ends', yardstick, measure: 'time', bar: 2 },
      of('engine-sdk', 'p99'),
      of('relay-sdk', 'p99'),
    ),
    compare(
      { subject: 'calls, raw ws at both ends', yardstick, measure: 'rate', bar: 0.5 },
      of('engine-raw', 'rate'),
      of('relay-raw', 'rate'),
    ),
    ...(['sdk', 'raw'] as const).map((kind) =>
      compare(
        {
          subject: `calls with 10,000 functions and 200 workers connected, ${kind}`,
          yardstick: 'the same with two',
          measure: 'rate',
          bar: 0.7,
        },
        of(`crowded-${kind}`, 'rate'),
        of(`engine-${kind}`, 'rate'),
      ),
    ),
  ];
}

async function startEngine(
  home: string,
  start: (path: string, args: readonly string[]) => ChildProcess,
): Promise<Omit<Target, 'kind'>> {
  mkdirSync(home, { recursive: true });
  const main = '../../services/bus-engine/main.ts';
  start(main, ['serve', '--home', home, '--port', '0', '--http-port', '0']);
  const state = join(home, 'state');
  for (;;) {
    const running = runningService('core-bus-engine', { state });
    if (running === null) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    const token = readFileSync(join(home, 'config/tokens/worker.token'), 'utf8').trim();
    return { url: running.url.replace(/^http/, 'ws'), headers: { authorization: `Bearer ${token}` } };
  }
}

async function ask<A = unknown>(child: ChildProcess, order: object): Promise<A> {
  const answer = message<A>(child);
  child.send(order);
  return await answer;
}

async function message<A>(child: ChildProcess): Promise<A> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${child.spawnargs[1]} ended`);
  });
  ended.catch(() => {});
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as [A];
    return answer;
  } finally {
    settled.abort();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  if (child.connected) child.disconnect();
  await ended;
}
