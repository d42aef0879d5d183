import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runningService } from '#kit/config/running-service.ts';
import type { Health } from '#kit/contracts/health.ts';

export const engineProgram = fileURLToPath(
  new URL('../../services/bus-engine/cli/core-bus-engine', import.meta.url),
);

/** core-bus-engine as a process, on free ports. */
export interface EngineProcess {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly child: ChildProcess;
  /** What it said so far. */
  said(): string;
  /** Its exit code or the signal that ended it. */
  readonly ended: Promise<number | string>;
  health(): Promise<Health>;
}

export async function startEngineProcess(
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<EngineProcess> {
  const child = spawn(engineProgram, ['serve', '--home', home, '--port', '0', '--http-port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const state = join(home, 'state');
  for (;;) {
    const running = runningService('core-bus-engine', { state });
    if (running !== null) {
      const token = readFileSync(join(home, 'config/tokens/worker.token'), 'utf8').trim();
      return {
        url: running.url.replace(/^http/, 'ws'),
        headers: { authorization: `Bearer ${token}` },
        child,
        said: () => said,
        ended,
        health: async () => (await fetch(`${running.url}/healthz`)).json() as Promise<Health>,
      };
    }
    if (child.exitCode !== null || child.signalCode !== null) {
      throw Object.assign(new Error(said), { exitCode: await ended });
    }
    await pause(25);
  }
}
