import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { nodeFlags } from '../node-flags.ts';
import { WebSocket, WebSocketServer } from './ws.ts';

describe('websockets', () => {
  /** What Node has loaded after this much of a program. */
  function loadedBy(program: string): readonly string[] {
    const script = `${program}; process.stdout.write(JSON.stringify(process.moduleLoadList))`;
    const args = [...nodeFlags, '--input-type=module', '--eval', script];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  }

  it('load no TLS before an address needs it', () => {
    const ws = JSON.stringify(fileURLToPath(new URL('./ws.ts', import.meta.url)));
    const loaded = loadedBy(`await import(${ws})`);
    expect(loaded).to.include('NativeModule http').and.not.to.include('NativeModule tls');
    expect(loaded).not.to.include('NativeModule https');
  });

  it('speak TLS where the address says so', async () => {
    const folder = temporaryFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      '-keyout',
      key,
      '-out',
      cert,
    ];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync('openssl', [...made, ...subject], { stdio: 'ignore' });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('message', (data) => socket.send(`heard ${data}`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `wss://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const socket = new WebSocket(url, { ca: readFileSync(cert) });
    try {
      await once(socket, 'open');
      socket.send('you');
      const [data] = await once(socket, 'message');
      expect(String(data)).to.equal('heard you');
      const [error] = await once(new WebSocket(url), 'error');
      expect((error as NodeJS.ErrnoException).code).to.equal('DEPTH_ZERO_SELF_SIGNED_CERT');
    } finally {
      socket.terminate();
      server.close();
      server.closeAllConnections();
    }
  });
});
