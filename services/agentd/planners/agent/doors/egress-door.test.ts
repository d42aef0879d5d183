import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { capitalsServer } from '../../../../../test/fixtures/capitals-server.ts';
import { until } from '../../../../../test/fixtures/until.ts';
import { type EgressDoor, openEgressDoor } from './egress-door.ts';

describe('The door to named hosts', () => {
  let folder: string;
  let socket: string;
  let server: Server;
  let door: EgressDoor;
  let addresses: Record<string, string[]>;
  let dialled: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'core-egress-'));
    socket = join(folder, 'egress.sock');
    addresses = { 'api.example': ['1.1.1.1'] };
    dialled = [];
    server = capitalsServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    door = await openEgressDoor({
      socket,
      hosts: ['API.example', 'private.example', 'missing.example'],
      network: {
        resolve: async (host) => addresses[host] ?? Promise.reject(new Error(`no address of ${host}`)),
        connect(address, port) {
          dialled.push(`${address}:${port}`);
          return connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
        },
      },
    });
  });

  afterEach(async () => {
    await door.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function ask(head: string, rest?: string): Promise<string> {
    const peer: Socket = connect({ path: socket, allowHalfOpen: true });
    peer.write(`${head}\r\nHost: x\r\n\r\n`);
    if (rest !== undefined) peer.end(rest);
    return text(peer);
  }

  it('leads to a named host on port 443, at the address that was looked at, and counts the bytes', async () => {
    expect(await ask('CONNECT api.example:443 HTTP/1.1', 'hello')).to.match(
      /^HTTP\/1.1 200 Connection Established\r\n\r\nHELLO$/,
    );
    expect(await ask('CONNECT API.EXAMPLE:443 HTTP/1.1', 'again')).to.match(/AGAIN$/);
    expect(dialled).to.deep.equal(['1.1.1.1:443', '1.1.1.1:443']);
    await until('the count of both', () => door.traffic()[0]?.bytes_received === 10);
    expect(door.traffic()).to.deep.equal([
      { host: 'api.example', connections: 2, bytes_sent: 10, bytes_received: 10, refused: 0 },
    ]);
  });

  it('leads nowhere else: another host, port or method, or a name that only looks like it', async () => {
    for (const head of [
      'CONNECT other.example:443 HTTP/1.1',
      'CONNECT api.example:80 HTTP/1.1',
      'CONNECT api.example:0443 HTTP/1.1',
      'CONNECT sub.api.example:443 HTTP/1.1',
      'CONNECT api.example.:443 HTTP/1.1',
      'CONNECT api.example@evil.example:443 HTTP/1.1',
      'CONNECT 127.0.0.1:443 HTTP/1.1',
      'CONNECT 169.254.169.254:443 HTTP/1.1',
      'CONNECT [::1]:443 HTTP/1.1',
      'GET http://api.example/ HTTP/1.1',
      'POST / HTTP/1.1',
    ]) {
      expect(await ask(head), head).to.match(/^HTTP\/1.1 403 /);
    }
    expect(dialled).to.deep.equal([]);
    const refused = door.traffic().reduce((sum, host) => sum + host.refused, 0);
    expect(refused).to.equal(11);
  });

  it('refuses a name that leads into this machine or its network, and takes a public address beside it', async () => {
    for (const address of [
      '127.0.0.1',
      '169.254.169.254',
      '10.0.0.1',
      '::1',
      'fd00::1',
      '::ffff:127.0.0.1',
    ]) {
      addresses['private.example'] = [address];
      expect(await ask('CONNECT private.example:443 HTTP/1.1'), address).to.contain('has no public address');
    }
    expect(dialled).to.deep.equal([]);
    addresses['private.example'] = ['192.168.0.1', '1.0.0.1'];
    expect(await ask('CONNECT private.example:443 HTTP/1.1', 'x')).to.match(/X$/);
    expect(dialled).to.deep.equal(['1.0.0.1:443']);
  });

  it('goes through the proxy of the machine, but for hosts that NO_PROXY names', async () => {
    const heads: string[] = [];
    const proxy = createHttpServer();
    proxy.on('connect', (request, client) => {
      heads.push(`${request.url} ${request.headers['proxy-authorization']}`);
      if (heads.length > 1) return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      client.write('HTTP/1.1 200 OK\r\n\r\nfirst ');
      client.once('data', (sent: Buffer) => client.end(sent.toString().toUpperCase()));
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    await door.close();
    door = await openEgressDoor({
      socket,
      hosts: ['api.example', 'direct.corp.example'],
      network: { resolve: async () => [], connect: () => expect.fail('connected directly') },
      proxies: {
        HTTPS_PROXY: `http://mira:p%40ss@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        HTTP_PROXY: undefined,
        NO_PROXY: 'localhost, .corp.example',
      },
    });
    try {
      expect(await ask('CONNECT api.example:443 HTTP/1.1', 'hello')).to.match(/\r\n\r\nfirst HELLO$/);
      await until('the count', () => door.traffic()[0]?.bytes_received === 11);
      expect(door.traffic()[0]).to.include({ connections: 1, bytes_sent: 5, bytes_received: 11 });
      const login = Buffer.from('mira:p@ss').toString('base64');
      expect(heads).to.deep.equal([`api.example:443 Basic ${login}`]);
      expect(await ask('CONNECT other.example:443 HTTP/1.1')).to.match(/^HTTP\/1.1 403 /);
      expect(await ask('CONNECT direct.corp.example:443 HTTP/1.1')).to.contain('has no public address');
      expect(heads).to.have.length(1);
      const refused = await ask('CONNECT api.example:443 HTTP/1.1');
      expect(refused)
        .to.match(/^HTTP\/1.1 502 [\s\S]*HTTPS_PROXY answered 407/)
        .and.not.contain('p@ss');
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('says that a host cannot be found', async () => {
    expect(await ask('CONNECT missing.example:443 HTTP/1.1')).to.match(
      /^HTTP\/1.1 502 .*no address of missing/s,
    );
  });

  it('counts made-up names together once there are many', async () => {
    for (let number = 0; number < 120; number++) await ask(`CONNECT made-up-${number}.example:443 HTTP/1.1`);
    const traffic = door.traffic();
    expect(traffic.length).to.be.at.most(60);
    expect(traffic.find(({ host }) => host === '(others)')?.refused).to.be.above(60);
  });

  it('ends its tunnels when it closes', async () => {
    const peer = connect({ path: socket });
    peer.write('CONNECT api.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(peer, 'data');
    const ended = text(peer).catch(() => '');
    await door.close();
    expect(await ended).to.equal('');
    expect(door.traffic()[0]).to.include({ connections: 1 });
    door = await openEgressDoor({ socket, hosts: [] });
  });
});
