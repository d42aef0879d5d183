import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'chai';
import { textWidth } from '#kit/cli/text-width.ts';
import { childEnvironment } from '#kit/environment.ts';
import { until } from '../fixtures/until.ts';
import { itWith } from '../needs.ts';
import type { Said } from './core-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('the quickstart in a copy of the project', () => {
  let copy: string;
  let personHome: string;
  let first: Said;

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'core-quickstart-'));
    copy = join(folder, 'project');
    personHome = join(folder, 'person');
    mkdirSync(copy);
    mkdirSync(personHome);
    for (const name of ['core', 'package.json', 'config', 'services'])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const holder = await take(7817);
    first = await inCopy('./core', 'quickstart', '--yes');
    await new Promise((resolve) => (holder === null ? resolve(null) : holder.close(resolve)));
  });
  after(() => rmSync(join(copy, '..'), { recursive: true, force: true }));

  it('goes from a failing test to a pull request', () => {
    expect(first.exitCode, first.stderr + first.stdout).to.equal(0);
    const story = [
      'node --test: 1 fails',
      'Nothing was written to the repository.',
      '--yes: approves create_branch, apply_patch, run_validation, commit',
      'delivered as core/1-greeting-is-wrong',
      '--yes: approves push_branch, open_pull_request, comment_issue',
      'demo/hello#2  Greeting is wrong when the name is empty (#1)',
      'holds:',
      'core undo run_',
    ];
    let from = 0;
    for (const part of story) {
      const at = first.stdout.indexOf(part, from);
      expect(at, `${part} after ${from} in\n${first.stdout}`).to.be.at.least(from);
      from = at;
    }
  });

  it('says that port 7817 is taken, and takes another', () => {
    expect(first.stdout).to.match(/answers on http:\/\/127\.0\.0\.1:(?!7817)\d+ \(7817 is taken\)/);
  });

  it('leaves nothing outside the folder that it names, and no process', async () => {
    expect(first.stdout).to.contain('.core/quickstart');
    expect(readdirSync(personHome)).to.deep.equal([]);
    expect(readdirSync(copy).sort()).to.deep.equal([
      '.core',
      'config',
      'core',
      'node_modules',
      'package.json',
      'services',
    ]);
    await until(
      () => `the end of ${processesOf(copy)}`,
      () => processesOf(copy).length === 0,
    );
  });

  it('prints a line that undoes it, as it stands', async () => {
    const line = /\$ (\.\/core undo run_\S+ --home \S+)/.exec(first.stdout)?.[1];
    const undone = await inCopy('sh', '-c', line ?? 'false');
    expect(undone.stdout).to.contain('The run is undone.');
    expect(undone.exitCode).to.equal(0);
  });

  itWith(['time'], 'can be run a second time', async () => {
    const second = await inCopy('./core', 'quickstart', '--yes');
    expect(second.exitCode, second.stderr).to.equal(0);
    expect(second.stdout).to.contain('demo/hello-2#2');
    expect(existsSync(join(copy, '.core/quickstart/checkouts/hello'))).to.equal(true);
  });

  it('refuses to ask where there is no terminal, and says how to go on', async () => {
    const { exitCode, stderr } = await inCopy('./core', 'quickstart');
    expect(stderr).to.contain('there is no terminal to ask on').and.to.contain('npm run quickstart -- --yes');
    expect(exitCode).to.equal(2);
  });

  itWith(['script'], 'leaves no process behind when Ctrl-C is typed at the prompt', async () => {
    const child = spawn(
      'script',
      ['--quiet', '--flush', '--return', '--command', './core quickstart', '/dev/null'],
      {
        cwd: copy,
        env: childEnvironment({ HOME: personHome, TERM: 'xterm' }),
        stdio: ['pipe', 'pipe', 'ignore'],
      },
    );
    // A tour that hangs is ended, so that the test can show how far it came.
    const late = setTimeout(() => child.kill('SIGKILL'), 250_000);
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const asked = said.includes('Approve the gate build');
      said += text;
      if (!asked && said.includes('Approve the gate build')) setTimeout(() => child.stdin.write('\x03'), 200);
    });
    const exitCode = await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(late);
    expect(said).to.contain('Stopped.');
    expect(exitCode).to.equal(130);
    await until(
      () => `the end of ${processesOf(copy)}`,
      () => processesOf(copy).length === 0,
    );
  });

  itWith(['script', 'time'], 'goes through in a terminal without waiting for a pager', async () => {
    const tour = 'stty rows 10 cols 80; unset PAGER; ./core quickstart --yes';
    const { exitCode, stdout } = await inCopy(
      'script',
      '--quiet',
      '--return',
      '--command',
      tour,
      '/dev/null',
    );
    expect(stdout).to.contain('What next');
    expect(exitCode).to.equal(0);
    const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
    const seen = lines.map((line) => line.split('\r').at(-1)!);
    // The patch's own lines stay as they are.
    const wide = seen.filter((line) => textWidth(line) > 80 && !line.startsWith('index '));
    expect(wide).to.deep.equal([]);
    expect(lines.slice(lines.indexOf('What next')).length).to.be.lessThan(20);
  });

  function inCopy(program: string, ...args: readonly string[]): Promise<Said> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        cwd: copy,
        env: childEnvironment({ HOME: personHome, LANG: 'C.UTF-8' }),
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const texts = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (text: string) => {
          texts[name] += text;
        });
      }
      // A tour that hangs is ended with all that it started, so that the test can show how far it came.
      const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 250_000);
      child.on('error', reject);
      child.on('close', (code) => {
        clearTimeout(late);
        resolve({ ...texts, exitCode: code ?? -1 });
      });
    });
  }
});

/** null when somebody else has it already, which is as good here. */
function take(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Command lines of living processes that name a folder. Empty if the system does not report them. */
function processesOf(folder: string): string[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(folder));
}
