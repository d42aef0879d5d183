import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Benchmark, compare, takeTurns } from './comparison.ts';
import { writeRuns } from './many-runs.ts';
import { core } from './timed-process.ts';

const runs = 10_000;
const autocannon = fileURLToPath(new URL('../../node_modules/autocannon/autocannon.js', import.meta.url));

export const listOverHttp: Benchmark = {
  summary: `requests per second of the daemon, with ${runs.toLocaleString('en')} runs`,
  async run(folder) {
    await writeRuns(join(folder, 'state'), runs);
    const daemon = await startDaemon(folder);
    try {
      const samples = await takeTurns(8, {
        health: () => requestsPerSecond(`${daemon.url}/healthz`),
        list: () => requestsPerSecond(`${daemon.url}/v1/runs`),
      });
      const what = { subject: 'GET /v1/runs', yardstick: 'GET /healthz', measure: 'rate' as const, bar: 0.2 };
      return [compare(what, samples.list, samples.health)];
    } finally {
      await daemon.stop();
    }
  },
};

async function startDaemon(home: string): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, CORE_AGENTD_PORT: String(port), CORE_LOG_LEVEL: 'warn' };
  const child = spawn(core, ['serve', '--home', home], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  for (let asked = 0; !(await answers(`${url}/v1/runs`)); asked++) {
    if (asked === 300 || child.exitCode !== null) throw new Error(`the daemon does not answer at ${url}`);
    await setTimeout(100);
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.ok === true;
}

/** Asks for a second and a half over ten connections, from a process of its own. */
async function requestsPerSecond(url: string): Promise<number> {
  const args = [autocannon, '--json', '--connections', '10', '--duration', '1.5', url];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { requests, duration, errors, non2xx } = JSON.parse(stdout);
  if (errors + non2xx > 0) throw new Error(`${url}: ${errors} errors, ${non2xx} answers that are not 2xx`);
  return requests.total / duration;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
