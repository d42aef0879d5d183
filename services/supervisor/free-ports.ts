import { once } from 'node:events';
import { createServer } from 'node:net';
import type { StackFlags } from './embedded-services.ts';

const names = ['port', 'contextPort', 'modelsPort', 'bridgePort', 'busPort', 'busHttpPort'] as const;

/** The same flags with a free port in the place of each 0: every service is told the ports of the others before one runs. */
export async function withFreePorts<F extends StackFlags>(flags: F): Promise<F> {
  const wanted = names.filter((name) => String(flags[name] ?? '') === '0');
  const servers = wanted.map(() => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return { ...flags, ...Object.fromEntries(wanted.map((name, index) => [name, ports[index]])) };
}
