import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { guarded } from '#kit/callbacks.ts';
import { messageOf } from '#kit/errors.ts';
import type { Proxies } from '#kit/http/client.ts';
import { createServer } from '#kit/http/node-http.ts';
import { connectThrough, proxyTo } from './company-proxy.ts';
import { listenOn } from './listen-on.ts';
import type { Door } from './model-door.ts';
import { isPublicAddress } from './public-address.ts';

export interface EgressDoorOptions {
  /** Path of the Unix socket, in a folder that this user alone can enter. */
  readonly socket: string;
  /** Names of hosts, each for itself; there are no patterns. */
  readonly hosts: readonly string[];
  /** The way out; the system's own without it. */
  readonly network?: EgressNetwork;
  /** Through the one that is for a host, which then resolves its name; none without it. */
  readonly proxies?: Partial<Proxies>;
}

export interface EgressNetwork {
  /** Addresses of a host, the preferred first. */
  resolve(host: string): Promise<readonly string[]>;
  connect(address: string, port: number): Socket;
}

/** What went to one host. */
export interface EgressTraffic {
  readonly host: string;
  readonly connections: number;
  readonly bytes_sent: number;
  readonly bytes_received: number;
  /** Connections that were refused. */
  readonly refused: number;
}

export interface EgressDoor extends Door {
  /** By host, in the order in which they were first asked for; open connections with their bytes so far. */
  traffic(): EgressTraffic[];
}

const port = 443;
const connectMs = 15_000;
/** At once; an agent has a few. */
const maxConnections = 64;
/** Names that an agent made up are counted one by one up to here. */
const maxRefusedNames = 50;
const otherNames = '(others)';

/**
 * A proxy by which a sandbox reaches the hosts that a person named for it, on port 443, and nothing else: CONNECT alone. A name is
 * resolved here; what it leads to must be a public address, and the connection goes to the very address that was looked at. Where the
 * machine itself reaches the host through a proxy, that one resolves the name, and nobody here can look at its address. What is
 * said inside TLS nobody sees, the name of the server there among it.
 *
 * The proxy of `@anthropic-ai/sandbox-runtime` (0.0.83) was looked at in its place: it forwards plain HTTP too, counts no bytes, and
 * brings four packages.
 */
export async function openEgressDoor(options: EgressDoorOptions): Promise<EgressDoor> {
  const { socket, network = systemNetwork, proxies = {} } = options;
  const hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
  const traffic = new Traffic(hosts);
  const open = new Set<Duplex>();
  const server: Server = createServer((request, response) => {
    const what = `${request.method} ${request.url ?? ''}`.slice(0, 200);
    traffic.refuse(otherNames);
    response.writeHead(403, { connection: 'close' }).end(`this proxy knows CONNECT alone, not ${what}\n`);
  });
  server.on(
    'connect',
    guarded('the egress door', (request: IncomingMessage, client: Duplex, head: Buffer) => {
      open.add(client);
      client.once('close', () => open.delete(client));
      client.on('error', () => {});
      tunnel(request.url ?? '', client, head, { hosts, network, proxies, traffic }).catch(
        (error: unknown) => {
          endWith(client, '502 Bad Gateway', messageOf(error));
        },
      );
    }),
  );
  server.maxConnections = maxConnections;
  await listenOn(server, socket);
  return {
    traffic: () => traffic.all(),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const client of open) client.destroy();
      await closed;
    },
  };
}

interface Way {
  readonly hosts: ReadonlySet<string>;
  readonly network: EgressNetwork;
  readonly proxies: Partial<Proxies>;
  readonly traffic: Traffic;
}

async function tunnel(target: string, client: Duplex, head: Buffer, way: Way): Promise<void> {
  const { hosts, traffic } = way;
  const [, name = target, wanted] = /^([^:]+):(\d+)$/.exec(target) ?? [];
  const host = name.toLowerCase();
  const refuse = (why: string) => {
    traffic.refuse(host);
    endWith(client, '403 Forbidden', why);
  };
  if (!hosts.has(host)) return refuse(`${host.slice(0, 200)} is no host that this agent may reach`);
  if (wanted !== String(port)) return refuse(`only port ${port} may be reached`);
  const proxy = proxyTo(host, way.proxies);
  const upstream =
    proxy === null ? await direct(host, way) : await connectThrough(proxy, host, port, connectMs);
  if (upstream === null) return refuse(`${host} has no public address`);
  if (client.destroyed) return void upstream.destroy();
  client.once('close', () => upstream.destroy());
  traffic.open(host, upstream);
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  upstream.write(head);
  // An end in the middle is the business of those who speak.
  await pipeline(client, upstream, client).catch(() => {});
}

/** To the very address that was looked at; null where there is no public one. */
async function direct(host: string, { network }: Way): Promise<Socket | null> {
  const address = (await network.resolve(host)).find(isPublicAddress);
  if (address === undefined) return null;
  const upstream = network.connect(address, port);
  await once(upstream, 'connect', { signal: AbortSignal.timeout(connectMs) }).catch((error: unknown) => {
    upstream.destroy();
    throw error;
  });
  return upstream;
}

/** Whether or not the other side has said all that it wanted to. */
function endWith(client: Duplex, status: string, why: string): void {
  client.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n${why}\n`, () => client.destroy());
}

class Traffic {
  readonly #hosts: ReadonlySet<string>;
  readonly #counts = new Map<
    string,
    { connections: number; refused: number; sockets: Set<Socket>; sent: number; received: number }
  >();

  constructor(hosts: ReadonlySet<string>) {
    this.#hosts = hosts;
  }

  open(host: string, socket: Socket): void {
    const counts = this.#of(host);
    counts.connections += 1;
    counts.sockets.add(socket);
    // What was said with a proxy is no traffic of the agent.
    counts.sent -= socket.bytesWritten;
    counts.received -= socket.bytesRead - socket.readableLength;
    socket.once(
      'close',
      guarded('the egress door', () => {
        counts.sockets.delete(socket);
        counts.sent += socket.bytesWritten;
        counts.received += socket.bytesRead;
      }),
    );
  }

  refuse(name: string): void {
    const known = this.#hosts.has(name) || this.#counts.has(name);
    const shown =
      known || this.#counts.size < this.#hosts.size + maxRefusedNames ? name.slice(0, 253) : otherNames;
    this.#of(shown).refused += 1;
  }

  all(): EgressTraffic[] {
    return [...this.#counts].map(([host, { connections, refused, sockets, sent, received }]) => ({
      host,
      connections,
      bytes_sent: [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, sent),
      bytes_received: [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, received),
      refused,
    }));
  }

  #of(host: string) {
    const counts = this.#counts.get(host) ?? {
      connections: 0,
      refused: 0,
      sockets: new Set(),
      sent: 0,
      received: 0,
    };
    this.#counts.set(host, counts);
    return counts;
  }
}

const systemNetwork: EgressNetwork = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  connect: (address, to) => connect({ host: address, port: to, allowHalfOpen: true }),
};
