import { readFileSync } from 'node:fs';
import { modelsUrl } from '#kit/config/models-address.ts';
import { announceService } from '#kit/config/running-service.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { prepareFolder, resolveFolders } from '#kit/folders.ts';
import { createHttpServer } from '#kit/http/server.ts';
import { createLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction.ts';
import { readKnownSecrets } from '#kit/secrets.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { ensureTokens, openTokens } from '#kit/tokens.ts';
import { composeGateway } from '../compose.ts';
import { readGatewayConfig } from '../configuration.ts';

export interface ServeOptions {
  readonly home: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

const service = 'core-model-gateway';

/** Runs core-model-gateway until a signal comes, or the process that started it is gone. */
export async function serve({ home, host, port }: ServeOptions): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const config = readGatewayConfig({ folders, flags: { host, port }, environment });
  const { log } = readSettings({ folders, environment });
  prepareFolder(folders.state, 'state');
  ensureTokens(folders);
  const redactor = new Redactor();
  for (const secret of readKnownSecrets(folders)) redactor.addSecret(secret);
  const logger = createLogger({ service, ...log, redactor });
  const shutdown = new Shutdown({ deadlineMs: 20_000, warn: (message) => logger.warn(message) });
  const signalled = new Promise<number>((resolve) => shutdown.listen(resolve));

  const version = ownVersion();
  const gateway = composeGateway({
    folders,
    config,
    tokens: openTokens(folders),
    logger,
    redactor,
    version,
    proxies: environment,
  });
  shutdown.add('the ledger', () => gateway.close());
  const server = createHttpServer({
    service,
    version,
    binding: config,
    settings: 'models',
    tokens: gateway.tokens,
    logger,
    redactor,
    routes: gateway.routes,
    raw: gateway.raw,
    refuseUnknown: gateway.refuseUnknown,
    measure: (registry) => gateway.measure(registry),
    health: () => gateway.health(),
  });
  shutdown.add('the HTTP interface', () => server.close());
  try {
    const { port } = await server.start();
    const address = { url: modelsUrl({ ...config, port }), host: config.host, port };
    const announced = announceService('core-model-gateway', folders, address);
    shutdown.add('the note of its address', () => announced.withdraw());
  } catch (error) {
    await shutdown.close('it cannot listen');
    throw error;
  }
  return await signalled;
}

function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version;
}
