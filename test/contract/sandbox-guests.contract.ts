import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Sandbox, SandboxRun } from '../../services/agentd/ports/sandbox.ts';
import { limits, useBench } from './sandbox.contract.ts';

const guests: Readonly<Record<string, Partial<SandboxRun>>> = {
  interactive: { interactive() {} },
  doors: { doors: [] },
  setup: { setup: 'true' },
  environment: { environment: { A: 'b' } },
  programs: { programs: ['/usr'] },
  home: { home: { file: Buffer.from('x') } },
};

/** What a sandbox does that cannot keep a run with guests. */
export function guestsRefused(create: () => Sandbox): void {
  const bench = useBench(create);

  it('refuses interactive commands, doors, a setup, variables, programs and a home by name', async () => {
    for (const [name, run] of Object.entries(guests)) {
      expect(await bench.failure('touch started', run), name).to.equal('sandbox_too_weak');
    }
    expect(readdirSync(bench.workspace)).to.deep.equal([]);
  });
}

/** What a sandbox does for a program that speaks with Core and has doors: an agent. */
export function guestsContract(create: () => Sandbox): void {
  const bench = useBench(create);

  describe('with an interactive command', () => {
    it('speaks with it on its own streams and keeps standard error as output', async () => {
      let heard = '';
      const result = await bench.run('read -r line; echo "heard $line"; echo complaint >&2; cat; exit 5', {
        interactive({ stdin, stdout }) {
          stdin.write('one\n');
          stdout.on('data', (chunk: Buffer) => {
            heard += chunk;
            if (heard === 'heard one\n') stdin.end('two\n');
          });
        },
      });
      expect(result).to.include({ exit_code: 5, ended_by: 'exit', text: 'complaint\n' });
      expect(heard).to.equal('heard one\ntwo\n');
    });

    it('lets it wait while nobody reads', async () => {
      const flood = 'timeout 3 head -c 50000000 /dev/zero; [ $? = 124 ] && echo waited >&2';
      expect((await bench.run(flood, { interactive() {} })).text).to.equal('waited\n');
      const read = await bench.run(flood, { interactive: ({ stdout }) => stdout.resume() });
      expect(read.text).to.equal('');
    });

    it('ends it when it floods its standard output', async () => {
      let bytes = 0;
      const result = await bench.run('cat /dev/zero', {
        limits: { ...limits, stream_bytes: 3_000_000 },
        interactive: ({ stdout }) => stdout.on('data', (chunk: Buffer) => (bytes += chunk.length)),
      });
      expect(result).to.include({ exit_code: null, ended_by: 'signal' });
      expect(result.text).to.contain('ended for writing more than 3000000 bytes to its standard output');
      expect(bytes).to.be.at.most(3_000_000);
    });

    it('closes both streams when it has ended, though nobody read', async () => {
      const streams: { destroyed: boolean }[] = [];
      await bench.run('echo unread', {
        interactive: ({ stdin, stdout }) => streams.push(stdin, stdout),
      });
      expect(streams.map(({ destroyed }) => destroyed)).to.deep.equal([true, true]);
    });

    it('ends it when it is cancelled, while it waits for a word', async () => {
      const abort = new AbortController();
      const result = await bench.run('echo ready; read -r line', {
        signal: abort.signal,
        interactive: ({ stdout }) => stdout.on('data', () => abort.abort()),
      });
      expect(result).to.include({ exit_code: null, ended_by: 'cancelled' });
    });
  });

  it('gives variables that no list of processes shows', async () => {
    let heard = '';
    let shown: string[] = ['not looked'];
    const { text } = await bench.run('echo "$SECRET"; read -r line', {
      environment: { SECRET: "sword fish's\n$HOME" },
      interactive({ stdin, stdout }) {
        stdout.on('data', (chunk: Buffer) => {
          heard += chunk;
          shown = readdirSync('/proc').filter(
            (pid) => /^\d+$/.test(pid) && commandLine(pid).includes('sword fish'),
          );
          stdin.end('go\n');
        });
      },
    });
    expect({ text, heard, shown }).to.deep.equal({ text: '', heard: "sword fish's\n$HOME\n", shown: [] });
    for (const name of ['A=B', 'A B', '', '1A']) {
      expect(await bench.failure('true', { environment: { [name]: 'x' } }), name).to.equal(
        'sandbox_run_not_allowed',
      );
    }
  });

  it('shows programs at their own path, read-only, and nothing beside them', async () => {
    const folder = bench.folder('agents');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin', 'agent'), '#!/bin/sh\necho agent at work\n', { mode: 0o755 });
    writeFileSync(join(folder, 'secret'), 'swordfish');
    const single = join(bench.folder('single'), 'tool');
    writeFileSync(single, '#!/bin/sh\necho tool\n', { mode: 0o755 });
    const { text } = await bench.run(
      `${folder}/bin/agent; ${single}; echo x >>${single}; touch ${folder}/bin/x; cat ${folder}/secret`,
      { programs: [join(folder, 'bin'), single] },
    );
    expect(text).to.match(/^agent at work\ntool\n/);
    expect(text.match(/Read-only file system|No such file|Permission denied/g)).to.have.length(3);
    expect(readFileSync(single, 'utf8')).to.equal('#!/bin/sh\necho tool\n');
    for (const path of ['bin/agent', '/', `${folder}/../agents`, `${folder}/`, `${folder}/missing`]) {
      expect(await bench.failure('true', { programs: [path] }), path).to.equal('sandbox_run_not_allowed');
    }
  });

  it('puts files into a home that is memory and ends with the command', async () => {
    const binary = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    const { text } = await bench.run(
      'cd ~; cat .config/agent/settings; stat -c %a .config/agent/settings; sha256sum <binary | cut -c 1-8; echo more >.config/agent/own && rm binary; df . | tail -1 | cut -d " " -f 1',
      { home: { '.config/agent/settings': Buffer.from('a = 1\n'), binary } },
    );
    const digest = createHash('sha256').update(binary).digest('hex').slice(0, 8);
    expect(text).to.equal(`a = 1\n600\n${digest}\ntmpfs\n`);
    for (const path of ['../x', '/x', 'a/../../x', 'a//b', '']) {
      expect(await bench.failure('true', { home: { [path]: binary } }), path).to.equal(
        'sandbox_run_not_allowed',
      );
    }
  });
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
