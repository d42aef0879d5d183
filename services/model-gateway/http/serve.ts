import type { ServeOptions } from '#kit/cli/serve-command.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import { composeGateway } from '../compose.ts';
import { type GatewayConfig, readGatewayConfig } from '../configuration.ts';

export function readConfiguration({ home, host, port }: ServeOptions): GatewayConfig {
  const folders = resolveFolders({ home }, environment);
  return readGatewayConfig({ folders, flags: { host, port }, environment });
}

export async function serve(options: ServeOptions): Promise<number> {
  const config = readConfiguration(options);
  const own = await openServiceProcess('core-model-gateway', options);
  const gateway = await composeGateway({ ...own, config, proxies: environment });
  own.shutdown.add('the ledger', () => gateway.close());
  return serveService(own, {
    concern: 'models',
    binding: config,
    parts: gateway,
  });
}
