import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { composeContext } from '../compose.ts';
import { readContextConfig } from '../configuration.ts';

/** Runs core-context until a signal comes, the process that started it is gone, or its record cannot be used any more. */
export async function serve({ home, host, port }: ServeOptions): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const config = readContextConfig({ folders, flags: { host, port }, environment });
  const own = openServiceProcess('core-context', { home });
  const context = await composeContext({ ...own, config });
  own.shutdown.add('the record', () => context.close());
  return serveService(own, {
    concern: 'context',
    binding: config,
    parts: { routes: context.routes, health: context.health, broken: context.broken },
    listening: () => context.begin(),
  });
}
