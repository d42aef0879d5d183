import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxes } from '../../services/agentd/sandboxes/registry.ts';
import { toolPaths } from '../../services/agentd/sandboxes/tool-paths.ts';
import { until } from '../fixtures/until.ts';
import { describeWith, isQuick } from '../needs.ts';
import { isolationContract, running, sandboxContract } from './sandbox.contract.ts';
import { credentialsContract } from './sandbox-credentials.contract.ts';
import { doorsContract } from './sandbox-doors.contract.ts';
import { guestsContract, guestsRefused } from './sandbox-guests.contract.ts';

const options = { tools: toolPaths([], []), networkEnvironment: {} };

for (const [kind, need] of [
  ['bubblewrap', 'bubblewrap'],
  ['unshare (weak)', 'unshare'],
] as const) {
  describeWith([need], `The sandbox ${kind}`, () => {
    sandboxContract(() => sandboxes[kind](options));
    isolationContract(() => sandboxes[kind](options));
    credentialsContract((tools) => sandboxes[kind]({ ...options, tools: [...options.tools, ...tools] }));

    if (kind === 'bubblewrap') {
      guestsContract(() => sandboxes[kind](options));
      doorsContract(() => sandboxes[kind](options));

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
    it('ends with its starter at whatever moment of its start that is killed', () => endsAtAnyMoment(kind));
  });
}

describeWith(['linux'], 'Running without a sandbox', () => {
  sandboxContract(() => sandboxes.none(options));
  guestsRefused(() => sandboxes.none(options));

  it('ends with the process that started it, even by SIGKILL', () => endsWithItsStarter('none'));
  it('ends with its starter at whatever moment of its start that is killed', () => endsAtAnyMoment('none'));
});

/** Kills the process that runs a command, and looks for what the command started. */
async function endsWithItsStarter(kind: keyof typeof sandboxes, socket?: string): Promise<void> {
  const sleep = `sleep 60.${randomInt(1e9, 1e10)}`;
  await withHolder(kind, `(setsid ${sleep} &); echo up; ${sleep}`, socket, async (holder) => {
    await once(holder.stdout!, 'data');
    await until('both of its processes', () => running(sleep).length === 2);
    holder.kill('SIGKILL');
    await until('the end of both', () => running(sleep).length === 0);
  });
}

/** Kills the process that starts a command within milliseconds, a little later each time, and looks for what is left. */
async function endsAtAnyMoment(kind: keyof typeof sandboxes): Promise<void> {
  for (let moment = 0; moment < 8; moment += isQuick ? 3 : 1) {
    const sleep = `sleep 600.${randomInt(1e9, 1e10)}`;
    await withHolder(kind, sleep, undefined, async (holder) => {
      const began = await until('its command', () => {
        // Without a pause, because a moment is shorter than that.
        const end = performance.now() + 50;
        while (performance.now() < end) if (hasStarted(holder.pid!, sleep)) return performance.now();
        return null;
      });
      while (performance.now() < began + moment);
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      const left = () => readdirSync('/proc').filter((pid) => commandLine(pid).includes(sleep));
      await until(`the end of all, killed ${moment} ms after the start`, () => left().length === 0);
    });
  }
}

function hasStarted(holder: number, command: string): boolean {
  const children = readFileSync(`/proc/${holder}/task/${holder}/children`, 'utf8').trim().split(' ');
  // One that is still to become the command has the command line of its parent.
  return children.map(commandLine).some((line) => line.includes(command) && !line.includes(holderProgram));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${Number(pid)}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const holderProgram = fileURLToPath(new URL('sandbox-holder.ts', import.meta.url));

/** Gives `use` a process of ours that runs a command in a sandbox. */
async function withHolder(
  kind: keyof typeof sandboxes,
  command: string,
  socket: string | undefined,
  use: (holder: ChildProcess) => Promise<void>,
): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), 'core-sandbox-test-'));
  const args = [holderProgram, kind, workspace, command, ...(socket === undefined ? [] : [socket])];
  const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await use(holder);
  } finally {
    holder.kill('SIGKILL');
    rmSync(workspace, { recursive: true, force: true });
  }
}
