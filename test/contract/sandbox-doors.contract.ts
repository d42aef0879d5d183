import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Sandbox } from '../../services/agentd/ports/sandbox.ts';
import { capitalsServer } from '../fixtures/capitals-server.ts';
import { type Bench, running, useBench } from './sandbox.contract.ts';

/** What a sandbox does with the doors of a command, and with what prepares it while they open. */
export function doorsContract(create: () => Sandbox): void {
  const bench = useBench(create);

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
      const server = capitalsServer().listen(socket);
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

    it('prepares the workspace while its doors open, and shows the command nothing of either', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      try {
        const knock = `node -e "require('net').connect(4101).on('connect', () => process.exit(9)).on('error', () => process.exit(1))"`;
        let heard = '';
        const result = await bench.run(
          `{ ls -A /tmp >seen; ls /proc/self/fd | grep '^[4-9]$'; } >&2; read -r word; echo "$word $kept"; ${knock}`,
          {
            doors: [given],
            setup: 'cat; echo prepared; kept=yes; cd /; echo made >/workspace/made; false',
            interactive({ stdin, stdout }) {
              stdin.write('word\n');
              stdout.on('data', (chunk: Buffer) => (heard += chunk));
            },
          },
        );
        expect(result).to.include({ exit_code: 9, ended_by: 'exit' });
        expect(heard).to.equal('word \n');
        expect(result.text).to.equal('prepared\n');
        // A checkout below /tmp is there too, as the folder of the programs.
        const { text: without } = await bench.run('ls -A /tmp');
        expect(readFileSync(join(bench.workspace, 'seen'), 'utf8')).to.equal(without);
        expect(readFileSync(join(bench.workspace, 'made'), 'utf8')).to.equal('made\n');
      } finally {
        server.close();
      }
    });

    it('keeps its doors open when the command signals its whole group, and ends though it waits for all of its own', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      try {
        const ask = `node -e "fetch('http://127.0.0.1:4101/').then((r) => r.text()).then(console.log, (e) => console.log('no:', e.cause.code))"`;
        const { text, exit_code } = await bench.run(
          `trap '' TERM INT HUP QUIT USR2; for signal in TERM INT HUP QUIT USR2; do kill -$signal 0; done; ${ask}; ${childless}; exit 3`,
          { doors: [given] },
        );
        expect({ text, exit_code }).to.deep.equal({ text: 'open /\nno children\n', exit_code: 3 });
      } finally {
        server.close();
      }
    });

    it('does not start the command when a door cannot open', async () => {
      const { server, ...given } = await door(bench, 4101, 'open');
      try {
        const result = await bench.run('touch started', { doors: [given, given], setup: 'sleep 1' });
        expect(result).to.include({ exit_code: 126 });
        expect(result.text).to.contain('the doors of the sandbox did not open');
        expect(readdirSync(bench.workspace)).to.deep.equal([]);
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
}

/** Says so where nothing but the looking itself is a child of the command. */
const childless =
  'set -- $(grep -l "^PPid:[[:space:]]$$\\$" /proc/[0-9]*/status); [ $# -le 1 ] && echo no children';

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
