import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startStack } from '../e2e/stack-process.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const emptyKoa = fileURLToPath(new URL('./stack/empty-koa.js', import.meta.url));
const servicesWithHealth = ['core-context', 'core-model-gateway', 'core-agentd', 'core-bridge'];

export const stack: Benchmark = {
  summary: 'from starting the whole stack until every service is healthy, beside one empty koa server',
  async run(folder) {
    const samples = await takeTurns(7, {
      koa: startKoa,
      up: () => startAll(join(folder, 'home')),
    });
    return [
      compare(
        {
          subject: 'core up, until all six services are healthy',
          yardstick: 'an empty koa server, until its first answer',
          measure: 'time',
          bar: 10,
        },
        samples.up,
        samples.koa,
      ),
    ];
  },
};

/** Milliseconds. */
async function startKoa(): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [emptyKoa], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  await answerOf(`http://127.0.0.1:${String(port).trim()}`);
  const took = performance.now() - started;
  child.kill();
  await once(child, 'close');
  return took;
}

/** Milliseconds, with tokens and databases of an earlier start. @throws Error where a service is not well after all */
async function startAll(home: string): Promise<number> {
  const started = performance.now();
  const running = startStack(home);
  try {
    await running.ready();
    const took = performance.now() - started;
    for (const service of servicesWithHealth) {
      const status = await answerOf(`${running.url(service)}/healthz`);
      if (status !== 200) throw new Error(`${service} answers ${status}:\n${running.said()}`);
    }
    return took;
  } finally {
    await running.end();
  }
}

function answerOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode!));
    }).once('error', reject);
  });
}
