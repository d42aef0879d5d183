import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxes } from '../../services/agentd/sandboxes/registry.ts';
import { toolPaths } from '../../services/agentd/sandboxes/tool-paths.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { isolationContract, running, sandboxContract } from './sandbox.contract.ts';
import { guestsContract, guestsRefused } from './sandbox-guests.contract.ts';

const options = { tools: toolPaths([], []), networkEnvironment: {} };

for (const [kind, need] of [
  ['bubblewrap', 'bubblewrap'],
  ['unshare (weak)', 'unshare'],
] as const) {
  describeWith([need], `The sandbox ${kind}`, () => {
    sandboxContract(() => sandboxes[kind](options));
    isolationContract(() => sandboxes[kind](options));

    if (kind === 'bubblewrap') {
      guestsContract(() => sandboxes[kind](options));

      it('ends an agent with the process that started it, though it has a door', async () => {
        const folder = mkdtempSync(join(tmpdir(), 'core-door-test-'));
        const server = createServer().listen(join(folder, 'socket'));
        await once(server, 'listening');
        try {
          await endsWithItsStarter(kind, join(folder, 'socket'));
        } finally {
          server.close();
          rmSync(folder, { recursive: true, force: true });
        }
      });
    } else guestsRefused(() => sandboxes[kind](options));

    it('ends with the process that started it, even by SIGKILL', () => endsWithItsStarter(kind));
  });
}

describeWith(['linux'], 'Running without a sandbox', () => {
  sandboxContract(() => sandboxes.none(options));
  guestsRefused(() => sandboxes.none(options));

  it('ends with the process that started it, even by SIGKILL', () => endsWithItsStarter('none'));
});

/** Kills the process that runs a command, and looks for what the command started. */
async function endsWithItsStarter(kind: keyof typeof sandboxes, socket?: string): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), 'core-sandbox-test-'));
  const sleep = `sleep 60.${randomInt(1e9, 1e10)}`;
  const holder = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('sandbox-holder.ts', import.meta.url)),
      kind,
      workspace,
      `(setsid ${sleep} &); echo up; ${sleep}`,
      ...(socket === undefined ? [] : [socket]),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    await once(holder.stdout, 'data');
    await until('both of its processes', () => running(sleep).length === 2);
    holder.kill('SIGKILL');
    await until('the end of both', () => running(sleep).length === 0);
  } finally {
    holder.kill('SIGKILL');
    rmSync(workspace, { recursive: true, force: true });
  }
}
