import { join } from 'node:path';
import { type Benchmark, type Comparison, compare, takeTurns } from './comparison.ts';
import { dialectStreams } from './gateway/dialects.ts';
import { startFakeUpstream } from './gateway/fake-upstream.ts';
import { firstToken, latency, readSlowly, requestsPerSecond, streamsAtOnce } from './gateway/load.ts';
import { type ProxyProcess, startBare, startCore, startPortkey, type Target } from './gateway/proxies.ts';

const rounds = 5;
const slowSeconds = 30;

export const gateway: Benchmark = {
  summary: 'the model gateway beside a bare proxy of undici and Portkey, with one fake upstream',
  async run(folder) {
    const upstream = await startFakeUpstream();
    const direct = {
      url: `${upstream.url}/chat/completions`,
      headers: { 'content-type': 'application/json' },
    };
    const started: ProxyProcess[] = [];
    const start = async (proxy: Promise<ProxyProcess>) => {
      started.push(await proxy);
      return started.at(-1)!;
    };
    try {
      const bare = await start(startBare(upstream.url));
      const core = await start(startCore(upstream.url, join(folder, 'home')));
      const portkey = await startPortkey(upstream.url);
      if (portkey !== null) started.push(portkey);
      return [
        ...(await rates(core, bare, portkey)),
        ...(await delays(core, bare, direct)),
        ...(await dialectDelays(core, bare)),
        ...(await streams(core, bare)),
        await slowReader(core),
      ];
    } finally {
      await Promise.all(started.map((proxy) => proxy.stop()));
      await upstream.close();
    }
  },
};

async function rates(
  core: ProxyProcess,
  bare: ProxyProcess,
  portkey: ProxyProcess | null,
): Promise<Comparison[]> {
  const subject = 'core-model-gateway at 32 connections';
  const measure = 'rate' as const;
  const beside = await takeTurns(rounds, {
    core: () => requestsPerSecond(core, 32, 8_000),
    bare: () => requestsPerSecond(bare, 32, 8_000),
  });
  const what = { subject, measure, yardstick: 'a bare proxy', bar: 0.4 };
  const found = [compare(what, beside.core, beside.bare)];
  if (portkey === null) return found;
  const other = await takeTurns(rounds, {
    core: () => requestsPerSecond(core, 32, 3_000),
    portkey: () => requestsPerSecond(portkey, 32, 1_000),
  });
  return [...found, compare({ ...what, yardstick: 'Portkey', bar: 3 }, other.core, other.portkey)];
}

/** What each adds to the time without anything between. */
async function delays(core: ProxyProcess, bare: ProxyProcess, direct: Target): Promise<Comparison[]> {
  const measure = 'time' as const;
  const whole = await takeTurns(8 * rounds, {
    direct: () => latency(direct, 200),
    core: () => latency(core, 200),
    bare: () => latency(bare, 200),
  });
  const first = await takeTurns(rounds, {
    core: () => firstToken(core, 200),
    bare: () => firstToken(bare, 200),
  });
  const added = (samples: readonly number[]) => samples.map((sample, round) => sample - whole.direct[round]!);
  const yardstick = 'a bare proxy';
  return [
    compare(
      { subject: 'time that core-model-gateway adds to a request', yardstick, measure, bar: 2.5 },
      added(whole.core),
      added(whole.bare),
    ),
    compare(
      { subject: 'first token of a stream through core-model-gateway', yardstick, measure, bar: 1.5 },
      first.core,
      first.bare,
    ),
  ];
}

/** The first token in dialects that are passed through beside chat completions. */
async function dialectDelays(core: ProxyProcess, bare: ProxyProcess): Promise<Comparison[]> {
  const found: Comparison[] = [];
  for (const [name, { path, request }] of Object.entries(dialectStreams)) {
    const turn = (proxy: Target) => () =>
      firstToken(
        { ...proxy, url: proxy.url.replace('chat/completions', path) },
        200,
        JSON.stringify(request),
      );
    const first = await takeTurns(rounds, { core: turn(core), bare: turn(bare) });
    const subject = `first token of a stream of ${name} through core-model-gateway`;
    found.push(
      compare({ subject, yardstick: 'a bare proxy', measure: 'time', bar: 1.5 }, first.core, first.bare),
    );
  }
  return found;
}

async function streams(core: ProxyProcess, bare: ProxyProcess): Promise<Comparison[]> {
  const turn = (proxy: ProxyProcess) => async () => {
    proxy.resetPeak();
    const whole = await streamsAtOnce(proxy, 500);
    if (whole !== 500) throw new Error(`${proxy.url}: ${whole} of 500 streams came whole`);
    return proxy.peak();
  };
  const peaks = await takeTurns(3, { core: turn(core), bare: turn(bare) });
  const what = { subject: 'core-model-gateway at 500 streams', yardstick: 'a bare proxy', bar: 1.3 };
  return [compare({ ...what, measure: 'memory' }, peaks.core, peaks.bare)];
}

/** Memory once the buffers between are full, and from then on. */
async function slowReader(core: ProxyProcess): Promise<Comparison> {
  let settled = 0;
  const read = await readSlowly(core, slowSeconds, () => {
    core.resetPeak();
    settled = core.memory();
  });
  if (read > slowSeconds * 12 * 1024) throw new Error(`the slow reader read ${read} bytes`);
  const what = {
    subject: `core-model-gateway with a reader of 10 KB a second, after ${slowSeconds} s of 512 MB`,
    yardstick: 'itself after 5 s',
    measure: 'memory' as const,
    bar: 1.1,
  };
  return compare(what, [core.peak()], [settled]);
}
