import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { makeSelfSigned } from '../../../test/fixtures/self-signed.ts';
import { itWith } from '../../../test/needs.ts';
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

  itWith(['openssl'], 'speak TLS where the address says so', async () => {
    const { key_file, certificate_file } = makeSelfSigned(temporaryFolder());
    const cert = readFileSync(certificate_file);
    const server = createServer({ key: readFileSync(key_file), cert });
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('message', (data) => socket.send(`heard ${data}`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `wss://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const socket = new WebSocket(url, { ca: cert });
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
