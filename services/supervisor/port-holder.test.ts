import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { describeHolder, holderOf, whoAnswers } from './port-holder.ts';

const listens = `const server = require('node:http').createServer((_, answer) => answer.end());
server.listen(0, '127.0.0.1', () => console.log(server.address().port))`;

describe('Who holds a port', () => {
  it('is the program that is halted, which is never said to be nobody', async function () {
    if (process.platform !== 'linux') this.skip();
    const child = spawn(process.execPath, ['-e', listens], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [line] = await once(createInterface(child.stdout), 'line');
      const port = Number(line);
      expect(await whoAnswers('127.0.0.1', port, 60_000)).to.include({ kind: 'other' });
      child.kill('SIGSTOP');
      const holder = await holderOf('127.0.0.1', port, 100);
      expect(holder).to.include({ kind: 'silent' });
      expect(describeHolder(holder as never)).to.match(
        new RegExp(`^\\S+ \\(pid ${child.pid}\\), which did not answer within 0\\.1 s$`),
      );
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('is somebody where it cannot be taken, although nobody takes connections there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const taken = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    await once(taken, 'connect');
    try {
      const port = taken.localPort!;
      expect(await whoAnswers('127.0.0.1', port, 60_000)).to.deep.equal({ kind: 'nobody' });
      expect(await holderOf('127.0.0.1', port, 60_000)).to.include({ kind: 'other' });
    } finally {
      taken.destroy();
      server.close();
    }
  });

  it('is nobody where the port is free', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await holderOf('127.0.0.1', port, 60_000)).to.deep.equal({ kind: 'nobody' });
  });
});
