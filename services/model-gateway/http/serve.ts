import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { composeGateway } from '../compose.ts';
import { readGatewayConfig } from '../configuration.ts';

/** Runs core-model-gateway until a signal comes, or the process that started it is gone. */
export async function serve({ home, host, port }: ServeOptions): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const config = readGatewayConfig({ folders, flags: { host, port }, environment });
  const own = openServiceProcess('core-model-gateway', { home });
  const gateway = composeGateway({ ...own, config, proxies: environment });
  own.shutdown.add('the ledger', () => gateway.close());
  return serveService(own, {
    concern: 'models',
    binding: config,
    parts: {
      tokens: gateway.tokens,
      routes: gateway.routes,
      raw: gateway.raw,
      refuseUnknown: gateway.refuseUnknown,
      measure: (registry) => gateway.measure(registry),
      health: () => gateway.health(),
    },
  });
}
