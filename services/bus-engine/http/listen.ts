import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cannotListen, listener } from '#kit/http/listener.ts';
import { urlOf } from '#kit/http/url-of.ts';
import type { Logger } from '#kit/log.ts';
import { levelOfNews } from '#kit/supervisor-channel.ts';
import type { BusConfig } from '../configuration.ts';

export interface TriggerListener {
  readonly port: number;
  close(): Promise<void>;
}

const finishMs = 2_000;

/** Listens for requests to what HTTP triggers define. @throws Failed (`port_in_use`) */
export async function listenForTriggers(
  config: BusConfig,
  handle: RequestListener,
  logger: Logger,
): Promise<TriggerListener> {
  const binding = { ...config, port: config.http_port, require_token_for_reads: config.require_token };
  const server = listener(binding, handle, 'bus');
  const { host } = binding;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, binding, 'bus_http')));
    server.listen(binding.port, host.replace(/^\[|\]$/g, ''), resolve);
  });
  const { port } = server.address() as AddressInfo;
  logger[levelOfNews()](`http triggers answer on ${urlOf({ host, port, tls: binding.tls !== null })}`);
  return {
    port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), finishMs);
      await closed;
      clearTimeout(cut);
    },
  };
}
