import { join } from 'node:path';
import { readConcernDocument } from '#kit/config/concern.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { readBusConfig } from './configuration.ts';
import { openBindings } from './cron/open-bindings.ts';
import { Engine } from './engine.ts';
import { httpSurface } from './http/http-surface.ts';
import { listenForTriggers } from './http/listen.ts';
import { measureEngine } from './metrics.ts';
import { createBusAccess } from './wire/bus-access.ts';
import { createUpgrade } from './wire/upgrade.ts';

export interface ServeOptions {
  readonly home: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly httpPort?: string | undefined;
}

/** Runs the engine until a signal comes or the process that started it is gone. */
export async function serve({ home, host, port, httpPort }: ServeOptions): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const config = readBusConfig({ folders, flags: { host, port, httpPort }, environment });
  const { shipped, user } = readConcernDocument('bus', folders);
  const own = openServiceProcess('core-bus-engine', { home });
  const { tokens, logger, redactor, shutdown, version } = own;
  const access = createBusAccess(config, tokens);
  const bindings = openBindings(join(folders.state, 'bus'));
  shutdown.add('what is stored of triggers', () => bindings.close());
  const engine = new Engine({
    config,
    configFiles: { shipped: shipped.path, user: user.document === undefined ? null : user.path },
    store: bindings.store,
    tokens,
    clock: { wall: Date.now, monotonic: () => performance.now() },
    logger,
    version,
  });
  const upgrade = createUpgrade({ engine, access, config, redactor, logger });
  const surface = httpSurface({ engine, config, access, logger });
  const triggers = await listenForTriggers(config, surface, logger).catch(async (error) => {
    await shutdown.close('it cannot listen');
    throw error;
  });
  shutdown.add('the HTTP interface of triggers', () => triggers.close());
  // The server waits for every socket, also those that are no HTTP any more.
  shutdown.signal.addEventListener('abort', () => {
    engine.close();
    upgrade.close();
    setTimeout(() => engine.terminate(), 500);
  });
  return serveService(own, {
    concern: 'bus',
    binding: { ...config, require_token_for_reads: config.require_token },
    parts: {
      routes: [],
      health: async () => engine.health(),
      upgrade,
      measure: (registry) => measureEngine(engine, registry),
    },
    listening: () => engine.start(),
  });
}
