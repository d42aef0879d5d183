import { announceService } from '#kit/config/running-service.ts';
import type { Settings } from '#kit/config/settings.ts';
import { type Folders, prepareFolder } from '#kit/folders.ts';
import { urlOf } from '#kit/http/url-of.ts';
import { createLogger } from '#kit/log.ts';
import { ownVersion } from '#kit/own-version.ts';
import { Redactor } from '#kit/redaction.ts';
import { readKnownSecrets } from '#kit/secrets.ts';
import { Shutdown } from '#kit/shutdown.ts';
import { tellServing } from '#kit/supervisor-channel.ts';
import { ensureTokens, openTokens } from '#kit/tokens.ts';
import type { Agent } from '../agent.ts';
import { createDaemon } from './server.ts';
import { createStatusCommand } from './status-command.ts';
import { tellContext } from './tell-context.ts';

/** Runs the daemon until `signal` is aborted or the process that started it is gone. */
export async function serve(options: {
  readonly agent: Agent;
  readonly folders: Folders;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { agent, folders, settings, signal } = options;
  prepareFolder(folders.state, 'state');
  ensureTokens(folders);
  const redactor = new Redactor();
  for (const secret of readKnownSecrets(folders)) redactor.addSecret(secret);
  const logger = createLogger({ service: 'core-agentd', ...settings.log, redactor });
  const shutdown = new Shutdown({ deadlineMs: 20_000, warn: (message) => logger.warn(message) });
  const daemon = createDaemon({
    agent,
    tokens: openTokens(folders),
    settings,
    logger,
    redactor,
    version: ownVersion(),
    status: createStatusCommand(folders),
  });
  const { port } = await daemon.start();
  shutdown.add('the HTTP interface', () => daemon.close());
  const { host, tls } = settings.agentd;
  const url = urlOf({ host, port, tls: tls !== null });
  const announced = announceService('core-agentd', folders, { url, host, port });
  shutdown.add('the note of its address', () => announced.withdraw());
  tellServing();
  const telling = tellContext(agent, logger);
  shutdown.add('telling the context service', () => telling.end());
  const reason = await endOf(signal);
  logger.info(`ending: ${reason}`);
  await shutdown.close(reason);
}

function endOf(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve('stopped');
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
    if (process.channel == null) return;
    process.once('disconnect', () => resolve('its supervisor is gone'));
    process.channel.unref();
  });
}
