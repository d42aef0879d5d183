import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logCallbackFailures } from './callbacks.ts';
import type { ServiceName } from './config/running-service.ts';
import { readSettings, type SettingFlags } from './config/settings.ts';
import { environment } from './environment.ts';
import { codeOf } from './errors.ts';
import { type Folders, prepareFolder, resolveFolders } from './folders.ts';
import { createLogger, type Logger } from './log.ts';
import { ownVersion } from './program.ts';
import { Redactor } from './redaction/redactor.ts';
import { Shutdown } from './shutdown.ts';
import { openRegistry } from './tokens/open-registry.ts';
import type { TokenRegistry } from './tokens/registry.ts';
import { ensureTokens } from './tokens/tokens.ts';

/** What every service of Core starts with. */
export interface ServiceProcess {
  readonly service: ServiceName;
  readonly version: string;
  readonly folders: Folders;
  readonly tokens: TokenRegistry;
  readonly redactor: Redactor;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  /** The exit code, once a signal came or the process that started this one is gone and all is closed. */
  readonly signalled: Promise<number>;
}

interface ServiceProcessOptions {
  readonly home: string | undefined;
  readonly flags?: SettingFlags;
}

/**
 * The process of a service that others call with tokens, which it registers and looks up in the database where there is one.
 * @throws InvalidInput (`config_invalid`), Failed where a folder cannot be made or the database refuses
 */
export async function openServiceProcess(
  service: ServiceName,
  options: ServiceProcessOptions,
): Promise<ServiceProcess> {
  const opened = openClientProcess(service, options);
  const { folders, logger, shutdown } = opened;
  const tokens = await openRegistry(folders, { warn: (message) => logger.warn(message) });
  shutdown.add('the registry of tokens', () => tokens.close());
  return { ...opened, tokens };
}

/**
 * The process of a service that only calls others, and asks nobody for a token: folders with the tokens in them, a log that prints no
 * known secret, and an orderly end. It needs no database.
 * @throws InvalidInput (`config_invalid`), Failed where a folder cannot be made
 */
export function openClientProcess(
  service: ServiceName,
  { home, flags = {} }: ServiceProcessOptions,
): Omit<ServiceProcess, 'tokens'> {
  const folders = resolveFolders({ home }, environment);
  const { log } = readSettings({ folders, environment, flags });
  prepareFolder(folders.state, 'state');
  ensureTokens(folders);
  const redactor = new Redactor();
  for (const secret of readKnownSecrets(folders)) redactor.addSecret(secret);
  const logger = createLogger({ service, ...log, redactor });
  logCallbackFailures(logger);
  const shutdown = new Shutdown({ deadlineMs: 20_000, warn: (message) => logger.warn(message) });
  const signalled = new Promise<number>((resolve) => shutdown.listen(resolve));
  return { service, version: ownVersion(), folders, redactor, logger, shutdown, signalled };
}

const maxSecretLength = 64 * 1024;

/** Values in the secrets and tokens of this installation, so that a redactor can hide them. Unreadable files hold none for us. */
export function readKnownSecrets(folders: Pick<Folders, 'secrets' | 'tokens'>): string[] {
  const tokens = namesIn(folders.tokens).filter((name) => name.endsWith('.token'));
  const paths = [
    ...namesIn(folders.secrets).map((name) => join(folders.secrets, name)),
    ...tokens.map((name) => join(folders.tokens, name)),
  ];
  return paths.flatMap((path) => {
    const text = readText(path);
    return text === null || text.trim() === '' || text.length > maxSecretLength ? [] : [text.trim()];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
