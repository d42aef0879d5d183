import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { throwawayRepository } from '../../services/agentd/planners/agent/agent-tree.ts';
import type { SandboxDoor, SandboxRun } from '../../services/agentd/ports/sandbox.ts';
import { sandboxes } from '../../services/agentd/sandboxes/registry.ts';
import { toolPaths } from '../../services/agentd/sandboxes/tool-paths.ts';
import { shellWord } from '../../services/kit/shell-word.ts';
import { type Benchmark, type Comparison, compare, takeTurns } from './comparison.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const place = (name: string) => fileURLToPath(new URL(`agent/${name}`, import.meta.url));
const greeting = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: 1, clientCapabilities: {} },
})}\n`;

export const agent: Benchmark = {
  summary: 'an agent in its sandbox, behind its door, beside the same program without them',
  async run(folder) {
    const upload = await startUpload(join(folder, 'door'));
    try {
      const home = join(folder, 'home');
      const room = {
        workspace: join(folder, 'workspace'),
        doors: [{ port: 4101, socket: upload.socket }],
      };
      mkdirSync(room.workspace);
      mkdirSync(home);
      writeFileSync(join(room.workspace, 'README.md'), 'a small repository\n');
      return [...(await starts(room, home)), await rate(room, upload.port)];
    } finally {
      upload.stop();
    }
  },
};

interface Room {
  readonly workspace: string;
  readonly doors: readonly SandboxDoor[];
}

/**
 * From an exported tree to the agent's first word, which it says when it is spoken to. Both sides first make the throwaway repository
 * that every agent gets; the relay of the doors starts beside it. Without the sandbox the agent has the home of somebody who has used
 * it before; in the sandbox it is always empty.
 */
async function starts(room: Room, home: string): Promise<Comparison[]> {
  const found: Comparison[] = [];
  const standIn = [process.execPath, place('stand-in.ts')] as const;
  for (const [name, command] of Object.entries({ 'a stand-in': standIn, ...installed() })) {
    const programs = command === standIn ? [project.replace(/\/$/, '')] : [process.env.CORE_TEST_AGENTS!];
    const samples = await takeTurns(8, {
      room: () => {
        withoutRepository(room);
        return firstWordInRoom(command, { ...room, programs });
      },
      plain: () => {
        withoutRepository(room);
        return firstWord(command, room.workspace, home);
      },
    });
    found.push(
      compare(
        {
          subject: `start of ${name} in the sandbox`,
          yardstick: 'the same without',
          measure: 'time',
          bar: 1.3,
        },
        samples.room,
        samples.plain,
      ),
    );
  }
  return found;
}

function withoutRepository({ workspace }: Room): void {
  rmSync(join(workspace, '.git'), { recursive: true, force: true });
}

/** Of the agents that `CORE_TEST_AGENTS` names the folder of, those that greet without an account. */
function installed(): Record<string, readonly string[]> {
  const folder = process.env.CORE_TEST_AGENTS;
  if (folder === undefined) return {};
  const commands = {
    'Claude Code': [join(folder, '.bin/claude-agent-acp')],
    Codex: [join(folder, '.bin/codex-acp')],
  };
  return Object.fromEntries(Object.entries(commands).filter(([, [program]]) => existsSync(program!)));
}

async function firstWordInRoom(
  command: readonly string[],
  room: Room & Pick<SandboxRun, 'programs'>,
): Promise<number> {
  const abort = new AbortController();
  const began = performance.now();
  let greeted: Promise<number> | undefined;
  const said = await run(command, room, {
    setup: throwawayRepository([]),
    signal: abort.signal,
    interactive({ stdin, stdout }) {
      greeted = greet(stdin, stdout).then(() => performance.now() - began);
      greeted.finally(() => abort.abort()).catch(() => {});
    },
  });
  return greeted!.catch(() => Promise.reject(new Error(`${command[0]} ended without a word: ${said}`)));
}

async function firstWord(command: readonly string[], cwd: string, home: string): Promise<number> {
  const began = performance.now();
  const script = `${throwawayRepository([])}\nexec "$@"`;
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...command], {
    cwd,
    env: { ...process.env, HOME: home },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  await greet(child.stdin, child.stdout);
  const took = performance.now() - began;
  const ended = once(child, 'close');
  process.kill(-child.pid!, 'SIGKILL');
  await ended;
  return took;
}

async function greet(stdin: Writable, stdout: Readable): Promise<void> {
  stdin.on('error', () => {});
  stdin.write(greeting);
  for await (const _ of stdout.iterator({ destroyOnReturn: false })) return;
  throw new Error('it ended without a word');
}

/** Bytes per second from a server to a program: through the door, against the loopback of the machine. */
async function rate(room: Room, port: number): Promise<Comparison> {
  const download = [process.execPath, place('download.ts')];
  const samples = await takeTurns(10, {
    door: async () => {
      const command = [...download, String(room.doors[0]!.port)];
      return Number(await run(command, { ...room, programs: [place('download.ts')] }, {}));
    },
    loopback: async () => {
      const child = spawn(download[0]!, [download[1]!, String(port)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [said] = (await once(child.stdout, 'data')) as [Buffer];
      return Number(said.toString());
    },
  });
  return compare(
    { subject: 'bytes per second through the door', yardstick: 'loopback', measure: 'rate', bar: 0.5 },
    samples.door,
    samples.loopback,
  );
}

/** In the sandbox; what it said. */
async function run(
  command: readonly string[],
  room: Room & Pick<SandboxRun, 'programs'>,
  extra: Partial<SandboxRun>,
): Promise<string> {
  const sandbox = sandboxes.bubblewrap({ tools: toolPaths([], []), networkEnvironment: {} });
  const { output } = await sandbox.run({
    ...{ ...room, mounts: [], network: false },
    command: `exec ${command.map(shellWord).join(' ')}`,
    limits: { seconds: 120, memory_mib: 4096, processes: 256, disk_mib: 1024, output_bytes: 64 * 1024 },
    ...extra,
  });
  return Buffer.from(output).toString('utf8');
}

async function startUpload(folder: string): Promise<{ port: number; socket: string; stop: () => void }> {
  mkdirSync(folder);
  const socket = join(folder, 's');
  const child = spawn(process.execPath, [place('upload.ts'), String(256 * 1024 * 1024), socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(said.toString()), socket, stop: () => child.kill() };
}
