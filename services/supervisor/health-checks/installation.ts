import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readKnownModels, secretsOfModels } from '#kit/config/known-models.ts';
import { type RunningAddress, runningService, type ServiceName } from '#kit/config/running-service.ts';
import { type AddressedConcern, readServiceAddress } from '#kit/config/service-address.ts';
import { answerMs, readSettings, type Settings } from '#kit/config/settings.ts';
import { type Health, remarkable } from '#kit/contracts/health.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { type Folders, prepareFolder } from '#kit/folders.ts';
import { openRegistry } from '#kit/tokens/open-registry.ts';
import { describeHolder, holderOf } from '../port-holder.ts';

/** What one check of `core doctor` found. */
export interface Finding {
  readonly name: string;
  /** `works`; `warning`, works with a limit; `missing`, something optional is not there; `broken`, Core cannot do its work. */
  readonly state: 'works' | 'warning' | 'missing' | 'broken';
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly fix: string | null;
}

/** @param fix what to do; null where nothing is to be done */
export function finding(
  name: string,
  state: Finding['state'],
  detail: string,
  fix: string | null = null,
): Finding {
  return { name, state, detail, fix };
}

/** Makes the folder where it is missing: every later command would do the same. */
export function checkFolder(name: string, path: string, what: 'state' | 'config'): Finding {
  return attempt(name, () => {
    prepareFolder(path, what);
    const mode = statSync(path).mode & 0o777;
    if (process.platform === 'win32' || (mode & 0o022) === 0) return finding(name, 'works', path);
    const detail = `${path} has mode ${mode.toString(8)}: others may write there`;
    return finding(name, 'warning', detail, `chmod go-w '${path}'`);
  });
}

export function checkSettings(folders: Folders): {
  readonly finding: Finding;
  readonly settings: Settings | null;
} {
  let settings: Settings | null = null;
  const found = attempt('settings', () => {
    settings = readSettings({ folders, environment });
    return finding('settings', 'works', 'readable; ./core config show lists them');
  });
  return { finding: found, settings };
}

export async function checkTokens(folders: Folders): Promise<Finding> {
  try {
    const registry = await openRegistry(folders);
    try {
      const records = registry.list();
      const names = records.filter(({ revoked }) => revoked === null).map(({ name }) => name);
      const where = registry.shared === null ? '' : `; registered in ${registry.shared}`;
      const known = [...new Set(names)].join(', ') || 'none yet; the first start makes them';
      return finding('tokens', 'works', `${known}${where}`);
    } finally {
      await registry.close();
    }
  } catch (error) {
    return broken('tokens', error);
  }
}

/** core-agentd's. */
export function checkDaemonPort(folders: Folders, { agentd }: Settings): Promise<Finding> {
  const running = runningService('core-agentd', folders);
  return checkPort(running ?? agentd, { running, setting: 'agentd.port in core.json', folders });
}

/** A service's own port, of the running service or as configured. */
export async function checkServicePort(
  service: ServiceName,
  concern: AddressedConcern,
  folders: Folders,
): Promise<Finding> {
  try {
    const running = runningService(service, folders);
    const address = running ?? readServiceAddress(concern, { folders, environment });
    return await checkPort(address, { running, setting: `port in ${concern}.json`, folders });
  } catch (error) {
    return broken(service, error);
  }
}

/** The `model` planner needs a model; the others need none. */
export function checkModels(folders: Folders): Finding {
  return attempt('models', () => {
    const models = readKnownModels(folders);
    if (models.length === 0)
      return finding(
        'models',
        'missing',
        'none configured; the patch planner needs none',
        './core model add',
      );
    const names = models.map(({ name, tier }) => (tier === null ? name : `${name} (${tier})`)).join(', ');
    const lacking = secretsOfModels(folders).filter((secret) => !existsSync(join(folders.secrets, secret)));
    if (lacking.length === 0) return finding('models', 'works', `${names}; ./core model check asks each`);
    const detail = `${names}; of their keys ${lacking.join(', ')} is missing in ${folders.secrets}`;
    const fix = 'Write each key into the file of that name, readable by you alone.';
    return finding('models', 'warning', detail, fix);
  });
}

interface CheckedPort {
  readonly running: RunningAddress | null;
  readonly setting: string;
  readonly folders: Folders;
}

export async function checkPort(
  { host, port }: { readonly host: string; readonly port: number },
  { running, setting, folders }: CheckedPort,
): Promise<Finding> {
  const name = `port ${port}`;
  const holder = await holderOf(host, port, answerMs({ folders, environment }));
  if (holder.kind === 'nobody') return finding(name, 'works', `free on ${host}`);
  // Its certificate is for its clients; that it listens where its note says is enough here.
  if (holder.kind === 'other' && running?.url.startsWith('https:'))
    return finding(name, 'works', `listens with TLS on ${host}`);
  if (holder.kind === 'core') {
    const detail = `${describeHolder(holder)} answers on ${host}${limitsOf(holder.health)}`;
    switch (holder.health.status) {
      case 'failing':
        return finding(name, 'broken', detail, `Its checks: http://${host}:${port}/healthz`);
      case 'degraded':
        return finding(name, 'warning', detail);
      case 'ok':
      case 'standby':
        return finding(name, 'works', detail);
    }
  }
  const fix = `End it, or set ${setting}.`;
  if (holder.kind === 'other')
    return finding(name, 'broken', `${describeHolder(holder)} answers on ${host}`, fix);
  const detail = `taken on ${host} by ${describeHolder(holder)}`;
  if (running === null) return finding(name, 'broken', detail, fix);
  const wait =
    'It may be busy or halted: ./core status says which. answers.seconds in core.json gives it longer.';
  return finding(name, 'warning', detail, wait);
}

/** What does less than it could, and the state of the model that makes vectors of memories. */
export function limitsOf(health: Health): string {
  return remarkable(health, ['embeddings'])
    .map(([name, detail]) => `; ${name}: ${detail}`)
    .join('');
}

function attempt(name: string, check: () => Finding): Finding {
  try {
    return check();
  } catch (error) {
    return broken(name, error);
  }
}

export function broken(name: string, error: unknown): Finding {
  return finding(name, 'broken', messageOf(error), error instanceof CoreError ? error.hint : null);
}
