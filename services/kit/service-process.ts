import type { ServiceName } from './config/running-service.ts';
import { readSettings, type SettingFlags } from './config/settings.ts';
import { environment } from './environment.ts';
import { type Folders, prepareFolder, resolveFolders } from './folders.ts';
import { createLogger, type Logger } from './log.ts';
import { ownVersion } from './own-version.ts';
import { Redactor } from './redaction.ts';
import { readKnownSecrets } from './secrets.ts';
import { Shutdown } from './shutdown.ts';
import { ensureTokens, openTokens, type Tokens } from './tokens.ts';

/** What every service of Core starts with. */
export interface ServiceProcess {
  readonly service: ServiceName;
  readonly version: string;
  readonly folders: Folders;
  readonly tokens: Tokens;
  readonly redactor: Redactor;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  /** The exit code, once a signal came or the process that started this one is gone and all is closed. */
  readonly signalled: Promise<number>;
}

/**
 * Folders with the tokens in them, a log that prints no known secret, and an orderly end.
 * @throws InvalidInput (`config_invalid`), Failed where a folder cannot be made
 */
export function openServiceProcess(
  service: ServiceName,
  { home, flags = {} }: { readonly home: string | undefined; readonly flags?: SettingFlags },
): ServiceProcess {
  const folders = resolveFolders({ home }, environment);
  const { log } = readSettings({ folders, environment, flags });
  prepareFolder(folders.state, 'state');
  ensureTokens(folders);
  const redactor = new Redactor();
  for (const secret of readKnownSecrets(folders)) redactor.addSecret(secret);
  const logger = createLogger({ service, ...log, redactor });
  const shutdown = new Shutdown({ deadlineMs: 20_000, warn: (message) => logger.warn(message) });
  const signalled = new Promise<number>((resolve) => shutdown.listen(resolve));
  const tokens = openTokens(folders);
  return { service, version: ownVersion(), folders, tokens, redactor, logger, shutdown, signalled };
}
