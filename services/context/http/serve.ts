import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { sharesContextRecord } from '#kit/config/storage.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { composeContext } from '../compose.ts';
import { type ContextConfig, readContextConfig } from '../configuration.ts';
import { recordPath } from '../record/connection.ts';
import { Readers } from '../store/access.ts';

export function readConfiguration({ home, host, port }: ServeOptions): ContextConfig {
  const folders = resolveFolders({ home }, environment);
  return readContextConfig({ folders, flags: { host, port }, environment });
}

/** Runs core-context until a signal comes, the process that started it is gone, or its record cannot be used any more. */
export async function serve(options: ServeOptions): Promise<number> {
  const config = readConfiguration(options);
  const own = await openServiceProcess('core-context', options);
  const isShared = sharesContextRecord(own.folders);
  const hosts = isShared ? await import('../hosts/standby.ts') : null;
  const active = (await hosts?.waitAsStandby(own, config, config.backup)) ?? null;
  if (isShared && active === null) return own.signalled;
  const readers = new Readers(recordPath(own.folders.state));
  const context = await composeContext({ ...own, config, readers, active });
  own.shutdown.add('the record', () => context.close());
  // Once it reports that it serves, it is asked for its health, which beside the first question would start a second reading thread.
  const begun = Promise.withResolvers<void>();
  return serveService(own, {
    concern: 'context',
    binding: config,
    parts: {
      routes: context.routes,
      health: context.health,
      broken: context.broken,
      ...(active !== null && { requireActive: active.require, registry: context.registry! }),
    },
    listening: () => begun.resolve(context.begin()),
    ready: begun.promise,
  });
}
