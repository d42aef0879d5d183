import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '#kit/node-flags.ts';
import type { CommandHost } from '../fixtures/world/command-host.ts';

const dispatcher = fileURLToPath(new URL('../../services/supervisor/start.js', import.meta.url));

export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A place on disk with its own state and configuration, and `core` run there. */
export interface Place {
  readonly folder: string;
  readonly home: string;
  core(...args: readonly string[]): Promise<Said>;
  /** With another `--home`. */
  coreAt(home: string, ...args: readonly string[]): Promise<Said>;
  git(...args: readonly string[]): Promise<string>;
  remove(): void;
}

/** @param host runs the commands; without it each is a process of its own */
export function makePlace(host?: CommandHost): Place {
  const folder = mkdtempSync(join(tmpdir(), 'core-e2e-'));
  const home = join(folder, 'home');
  mkdirSync(join(home, 'config'), { recursive: true });
  async function core(at: string, args: readonly string[]): Promise<Said> {
    if (host === undefined)
      return run(process.execPath, [...nodeFlags, dispatcher, ...args, '--home', at], folder);
    const { code, ...output } = await host.run([...args, '--home', at], folder);
    return { exitCode: code, ...output };
  }
  return {
    folder,
    home,
    core: (...args) => core(home, args),
    coreAt: (other, ...args) => core(other, args),
    async git(...args) {
      const { exitCode, stdout, stderr } = await run('git', args, folder);
      if (exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
      return stdout.trim();
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Runs a program to its end; nothing it says is lost. */
export function run(program: string, args: readonly string[], cwd: string): Promise<Said> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...texts, exitCode: code ?? -1 }));
  });
}
