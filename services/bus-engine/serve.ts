import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { guarded } from '#kit/callbacks.ts';
import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { urlOf } from '#kit/config/address.ts';
import { readConcernDocument } from '#kit/config/concern.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { cannotListen, listener } from '#kit/http/listener.ts';
import { serveService } from '#kit/http/serve-service.ts';
import type { Logger } from '#kit/log.ts';
import { Gauge, Registry } from '#kit/prometheus.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { startupLogLevel } from '#kit/supervisor-channel.ts';
import { composeBus } from './compose.ts';
import { type BusConfig, readBusConfig } from './configuration.ts';
import type { Engine } from './engine.ts';

export interface BusServeOptions extends ServeOptions {
  readonly httpPort?: string | undefined;
}

export function readConfiguration({ home, host, port, httpPort }: BusServeOptions): BusConfig {
  const folders = resolveFolders({ home }, environment);
  return readBusConfig({ folders, flags: { host, port, httpPort }, environment });
}

export async function serve(options: BusServeOptions): Promise<number> {
  const config = readConfiguration(options);
  const own = await openServiceProcess('core-bus-engine', options);
  const { folders, logger, shutdown } = own;
  const { shipped, user } = readConcernDocument('bus', folders);
  const configFiles = { shipped: shipped.path, user: user.document === undefined ? null : user.path };
  const bus = composeBus({ ...own, config, configFiles, folder: join(folders.state, 'bus') });
  shutdown.add('what is stored of triggers', () => bus.close());
  shutdown.signal.addEventListener('abort', () => bus.disconnect());
  const closeTriggers = await listenForTriggers(config, bus.surface, logger).catch(async (error) => {
    await shutdown.close('it cannot listen');
    throw error;
  });
  shutdown.add('the HTTP interface of triggers', closeTriggers);
  return serveService(own, {
    concern: 'bus',
    binding: { ...config, require_token_for_reads: config.require_token },
    parts: {
      routes: [],
      health: async () => bus.engine.health(),
      upgrade: bus.upgrade,
      registry: engineMetrics(bus.engine),
    },
    listening: () => bus.engine.start(),
  });
}

const finishMs = 2_000;

/** Listens for requests to what HTTP triggers define. @returns what ends it @throws Failed (`port_in_use`) */
async function listenForTriggers(
  config: BusConfig,
  handle: RequestListener,
  logger: Logger,
): Promise<() => Promise<void>> {
  const binding = { ...config, port: config.http_port, require_token_for_reads: config.require_token };
  const server = listener(binding, handle, 'bus');
  const { host } = binding;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, binding, 'bus_http')));
    server.listen(binding.port, host.replace(/^\[|\]$/g, ''), resolve);
  });
  const { port } = server.address() as AddressInfo;
  logger[startupLogLevel()](`http triggers answer on ${urlOf({ host, port, tls: binding.tls !== null })}`);
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const cut = setTimeout(
      guarded('the bus engine', () => server.closeAllConnections()),
      finishMs,
    );
    await closed;
    clearTimeout(cut);
  };
}

export function engineMetrics({ workers, functions, calls, channels }: Engine): Registry {
  const registry = new Registry();
  const values: Readonly<Record<string, readonly [help: string, value: () => number]>> = {
    bus_workers: ['Connections', () => workers.size],
    bus_functions: ['Functions that somebody provides', () => functions.size],
    bus_pending_calls: ['Calls without a result yet', () => calls.pending],
    bus_answered_calls: ['Calls that were answered since the start', () => calls.answered],
    bus_channels: ['Open channels', () => channels.size],
  };
  for (const [name, [help, value]] of Object.entries(values)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  }
  return registry;
}
