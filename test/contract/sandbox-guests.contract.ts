import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Sandbox, SandboxRun } from '../../services/agentd/ports/sandbox.ts';
import { type Bench, limits, running, useBench } from './sandbox.contract.ts';

const guests: Readonly<Record<string, Partial<SandboxRun>>> = {
  interactive: { interactive() {} },
  doors: { doors: [] },
  environment: { environment: { A: 'b' } },
  programs: { programs: ['/usr'] },
  home: { home: { file: Buffer.from('x') } },
};

/** What a sandbox does that cannot keep a run with guests. */
export function guestsRefused(create: () => Sandbox): void {
  const bench = useBench(create);

  it('refuses interactive commands, doors, variables, programs and a home by name', async () => {
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

  describe('with doors', () => {
    it('leads each port of its loopback to one socket, and nothing else anywhere', async () => {
      const doors = [await door(bench, 4101, 'first'), await door(bench, 4102, 'second')];
      const other = await door(bench, 4103, 'other');
      try {
        const ask = (port: number) =>
          `node -e "fetch('http://127.0.0.1:${port}/path').then((r) => r.text()).then(console.log, (e) => console.log('no:', e.cause.code))"`;
        const { text } = await bench.run([4101, 4102, 4103].map(ask).join('\n'), {
          doors: doors.map(({ port, socket }) => ({ port, socket })),
        });
        expect(text).to.equal('first /path\nsecond /path\nno: ECONNREFUSED\n');
        const { text: seen } = await bench.run(`ls /run/core; ls ${other.socket}`, {
          doors: doors.map(({ port, socket }) => ({ port, socket })),
        });
        expect(seen).to.match(/^4101\n4102\nnode\nrelay\.mjs\nls: .*No such file/);
      } finally {
        for (const { server } of [...doors, other]) server.close();
      }
    });

    it('passes on what is said after the other side has said all', async () => {
      const socket = join(bench.folder('sockets'), 'echo');
      const server = createSocketServer({ allowHalfOpen: true }, async (connection) => {
        connection.end((await textOf(connection)).toUpperCase());
      }).listen(socket);
      await once(server, 'listening');
      try {
        const { text } = await bench.run(
          `node -e "const s = require('net').connect({ port: 4101, allowHalfOpen: true }, () => s.end('x'.repeat(3e6))); let n = 0; s.on('data', (c) => n += String(c).split('X').length - 1).on('end', () => console.log(n))"`,
          { doors: [{ port: 4101, socket }] },
        );
        expect(text).to.equal('3000000\n');
      } finally {
        server.close();
      }
    });

    it('starts the command after its doors are open, and ends with its status', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      try {
        const knock = `node -e "require('net').connect(4101).on('connect', () => process.exit(9)).on('error', () => process.exit(1))"`;
        expect(await bench.run(knock, { doors: [given] })).to.include({ exit_code: 9, ended_by: 'exit' });
        const killed = await bench.run('kill -TERM $$', { doors: [given] });
        expect(killed).to.include({ exit_code: 143 });
      } finally {
        server.close();
      }
    });

    it('keeps the command apart from the sockets that it has no door to', async () => {
      const { server, ...given } = await door(bench, 4101, 'mine');
      const beside = await door(bench, 4102, 'beside');
      try {
        const { text } = await bench.run(
          `node -e "require('net').connect('${beside.socket}').on('connect', () => console.log('reached')).on('error', (e) => console.log(e.code))"`,
          { doors: [given] },
        );
        expect(text).to.equal('ENOENT\n');
      } finally {
        server.close();
        beside.server.close();
      }
    });

    it('reaches no metadata service, no neighbour and no name, though it has a door', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      try {
        const targets = [
          '169.254.169.254:80',
          '10.0.0.1:443',
          '1.1.1.1:443',
          '[fd00:ec2::254]:80',
          'example.com:443',
        ];
        const tries = targets.map(
          (target) =>
            `node -e "fetch('http://${target}', { signal: AbortSignal.timeout(20000) }).then(() => console.log('reached'), (e) => console.log('no:', e.cause?.code ?? e.name))"`,
        );
        const { text } = await bench.run(tries.join('\n'), { doors: [given] });
        const lines = text.trim().split('\n');
        expect(lines).to.have.length(targets.length);
        for (const line of lines) expect(line).to.match(/^no: (ENETUNREACH|EAI_AGAIN|ENOTFOUND)$/);
      } finally {
        server.close();
      }
    });

    it('leaves nothing of a command that forks and stays, with its door open', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      const sleep = bench.marker();
      try {
        const { exit_code } = await bench.run(
          `(setsid nohup ${sleep} </dev/null >/dev/null 2>&1 &); (setsid ${sleep} &); exit 4`,
          { doors: [given], interactive: ({ stdout }) => stdout.resume() },
        );
        expect(exit_code).to.equal(4);
        expect(running(sleep)).to.deep.equal([]);
        expect(await new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).to.equal(
          0,
        );
      } finally {
        server.close();
      }
    });

    it('refuses a door that is no socket, and a port that is none', async () => {
      const file = join(bench.workspace, 'file');
      writeFileSync(file, '');
      for (const doors of [
        [{ port: 4101, socket: file }],
        [{ port: 4101, socket: join(bench.workspace, 'missing') }],
        [{ port: 80, socket: file }],
      ]) {
        expect(await bench.failure('true', { doors })).to.equal('sandbox_run_not_allowed');
      }
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

/** A server behind a socket of the host that answers with its name. */
async function door(
  bench: Bench,
  port: number,
  name: string,
): Promise<{ port: number; socket: string; server: Server }> {
  const socket = join(bench.folder(`door-${name}`), 'socket');
  const server = createServer((request, response) => response.end(`${name} ${request.url}`)).listen(socket);
  await once(server, 'listening');
  return { port, socket, server };
}
