import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import type { Target } from './proxies.ts';

const message = 'Say a few words about the weather in the mountains, and no more than that.';

function bodyOf(stream: boolean, kind: string): string {
  return JSON.stringify({
    model: 'bench',
    messages: [{ role: 'user', content: `${message} ${kind}` }],
    stream,
  });
}

function ask(dispatcher: Dispatcher, proxy: Target, body: string): Promise<Dispatcher.ResponseData> {
  return request(proxy.url, { method: 'POST', dispatcher, headers: proxy.headers, body });
}

/** Requests a second that are answered over so many connections, for so many requests. */
export async function requestsPerSecond(
  proxy: Target,
  connections: number,
  requests: number,
): Promise<number> {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  const body = bodyOf(false, '');
  let left = requests;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) {
        const answer = await ask(dispatcher, proxy, body);
        const text = await answer.body.text();
        if (answer.statusCode !== 200 || !text.includes('word ')) throw new Error(`${proxy.url}: ${text}`);
      }
    }),
  );
  const took = performance.now() - started;
  await dispatcher.close();
  return (requests * 1000) / took;
}

/** Median milliseconds of one request after the other over one connection. */
export async function latency(proxy: Target, requests: number): Promise<number> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  const body = bodyOf(false, '');
  const times: number[] = [];
  for (let asked = 0; asked < requests; asked++) {
    const started = performance.now();
    const answer = await ask(dispatcher, proxy, body);
    await answer.body.text();
    times.push(performance.now() - started);
  }
  await dispatcher.close();
  return median(times);
}

/** Median milliseconds until the first byte of a stream. */
export async function firstToken(proxy: Target, streams: number, body = bodyOf(true, '')): Promise<number> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  const times: number[] = [];
  for (let asked = 0; asked < streams; asked++) {
    const started = performance.now();
    const answer = await ask(dispatcher, proxy, body);
    let first: number | null = null;
    for await (const _piece of answer.body) first ??= performance.now() - started;
    times.push(first!);
  }
  await dispatcher.close();
  return median(times);
}

/** So many streams at once; how many came whole. */
export async function streamsAtOnce(proxy: Target, streams: number): Promise<number> {
  const dispatcher = new Agent({ pipelining: 1 });
  const body = bodyOf(true, 'slow');
  const whole = await Promise.all(
    Array.from({ length: streams }, async () => {
      const answer = await ask(dispatcher, proxy, body);
      const text = await answer.body.text();
      return text.split('word ').length === 101 && text.includes('[DONE]');
    }),
  );
  await dispatcher.close();
  return whole.filter(Boolean).length;
}

/**
 * Reads at 10 KB a second from a stream of 512 MB, then leaves; gives how many bytes it read.
 * @param settled called after 5 s, when what lies between is full
 */
export async function readSlowly(proxy: Target, seconds: number, settled: () => void): Promise<number> {
  const dispatcher = new Agent({ pipelining: 1 });
  const answer = await ask(dispatcher, proxy, bodyOf(true, 'endless'));
  const body = answer.body as Readable;
  let read = 0;
  for (let tick = 0; tick < seconds * 10; tick++) {
    if (tick === 50) settled();
    const piece: Buffer | null = body.read(1024);
    read += piece?.length ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  body.on('error', () => {});
  body.destroy();
  await dispatcher.destroy();
  return read;
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
