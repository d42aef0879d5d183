import { readFileSync } from 'node:fs';
import { contextUrl } from '#kit/config/context-address.ts';
import { announceService } from '#kit/config/running-service.ts';
import { readSettings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import { prepareFolder, resolveFolders } from '#kit/folders.ts';
import { createHttpServer } from '#kit/http/server.ts';
import { createLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction.ts';
import { readKnownSecrets } from '#kit/secrets.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { ensureTokens, openTokens } from '#kit/tokens.ts';
import { composeContext } from '../compose.ts';
import { readContextConfig } from '../configuration.ts';

export interface ServeOptions {
  readonly home: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}

const service = 'core-context';

/** Runs core-context until a signal comes, the process that started it is gone, or its record cannot be used any more. */
export async function serve({ home, host, port }: ServeOptions): Promise<number> {
  const folders = resolveFolders({ home }, environment);
  const config = readContextConfig({ folders, flags: { host, port }, environment });
  const { log } = readSettings({ folders, environment });
  prepareFolder(folders.state, 'state');
  ensureTokens(folders);
  const redactor = new Redactor();
  for (const secret of readKnownSecrets(folders)) redactor.addSecret(secret);
  const logger = createLogger({ service, ...log, redactor });
  const shutdown = new Shutdown({ deadlineMs: 20_000, warn: (message) => logger.warn(message) });
  const signalled = new Promise<number>((resolve) => shutdown.listen(resolve));

  const version = ownVersion();
  const context = await composeContext({ folders, config, logger, version });
  shutdown.add('the record', () => context.close());
  const server = createHttpServer({
    service,
    version,
    binding: config,
    settings: 'context',
    tokens: openTokens(folders),
    logger,
    redactor,
    routes: context.routes,
    health: context.health,
  });
  shutdown.add('the HTTP interface', () => server.close());
  try {
    const { port } = await server.start();
    const announced = announceService('core-context', folders, {
      url: contextUrl({ ...config, port }),
      host: config.host,
      port,
    });
    shutdown.add('the note of its address', () => announced.withdraw());
  } catch (error) {
    await shutdown.close('it cannot listen');
    throw error;
  }
  context.begin();

  const broken = context.broken.then<number | Error>((error) =>
    shutdown.signal.aborted ? signalled : error,
  );
  const end = await Promise.race([signalled, broken]);
  if (typeof end === 'number') return end;
  logger.error(`ending: ${messageOf(end)}`, { error: end });
  await shutdown.close('its record cannot be used');
  throw end instanceof Failed ? end : new Failed('thread_ended', messageOf(end), { cause: end });
}

function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version;
}
