import type { Channels } from '../channels/channels.ts';
import type { BusConfig } from '../configuration.ts';
import { BuiltInError, type BuiltIns, reading } from './built-in.ts';

export interface EngineFactsParts {
  readonly config: BusConfig;
  /** The files that the configuration is of: as shipped, and the user's where there is one. */
  readonly configFiles: { readonly shipped: string; readonly user: string | null };
  readonly storePath: string;
  readonly version: string;
  readonly channels: Channels;
}

/** Whether the engine is well, and how it is configured, under the ids that operators of the protocol ask for. */
export function engineFacts({
  config,
  configFiles,
  storePath,
  version,
  channels,
}: EngineFactsParts): BuiltIns {
  const { host, port, http_port, limits, http } = config;
  const known: Readonly<Record<string, unknown>> = {
    'core-bus-engine': {
      version,
      config_file: configFiles.user ?? configFiles.shipped,
      config_files: Object.values(configFiles).filter((path) => path !== null),
      config_file_active: true,
      in_memory: false,
    },
    'iii-worker-manager': { host, port, limits },
    'iii-http': {
      host,
      port: http_port,
      default_timeout: http.seconds * 1_000,
      concurrency_request_limit: http.requests,
    },
    'iii-cron': {
      adapter: { name: 'sqlite', config: { store_method: 'file_based', file_path: storePath } },
    },
    'iii-telemetry': { enabled: false },
    'iii-observability': {
      enabled: false,
      exporter: 'none',
      metrics_enabled: true,
      metrics_exporter: 'memory',
    },
  };

  return {
    'engine::health::check': reading('Whether the engine is well', () => ({
      status: 'healthy',
      components: { otel: 'disabled', metrics: 'enabled', logs: 'enabled', spans: 'disabled' },
      timestamp: Date.now(),
      version,
    })),
    'configuration::get': reading('What is in force of the configuration', (given) => {
      const id = given.text('id');
      if (Object.hasOwn(known, id)) return { id, value: known[id] };
      const choices = Object.keys(known).join(', ');
      throw new BuiltInError(
        'NOT_FOUND',
        `configuration ${id} is not part of this engine; there are ${choices}`,
      );
    }),
    'engine::channels::create': {
      description: 'Opens a channel from one worker to another',
      reads: false,
      answer(given, caller) {
        const opened = channels.open(given.any('buffer_size') ?? undefined, caller);
        if (opened === null) throw new BuiltInError('INVALID_ARGUMENTS', 'too many channels are open');
        return { writer: opened.writer, reader: opened.reader };
      },
    },
  };
}
