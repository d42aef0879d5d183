import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { answerMs } from '#kit/config/answer-ms.ts';
import { readKnownModels, secretsOfModels } from '#kit/config/known-models.ts';
import { type RunningAddress, runningService, type ServiceName } from '#kit/config/running-service.ts';
import { type AddressedConcern, readServiceAddress } from '#kit/config/service-address.ts';
import { readSettings, type Settings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { type Folders, prepareFolder } from '#kit/folders.ts';
import { openTokens } from '#kit/tokens.ts';
import { describeHolder, holderOf, type PortHolder } from '../port-holder.ts';
import type { Finding } from './finding.ts';

/** Makes the folder where it is missing: every later command would do the same. */
export function checkFolder(name: string, path: string, what: 'state' | 'config'): Finding {
  return attempt(name, () => {
    prepareFolder(path, what);
    const mode = statSync(path).mode & 0o777;
    if (process.platform === 'win32' || (mode & 0o022) === 0)
      return { state: 'works', detail: path, fix: null };
    const detail = `${path} has mode ${mode.toString(8)}: others may write there`;
    return { state: 'warning', detail, fix: `chmod go-w '${path}'` };
  });
}

export function checkSettings(folders: Folders): {
  readonly finding: Finding;
  readonly settings: Settings | null;
} {
  let settings: Settings | null = null;
  const finding = attempt('settings', () => {
    settings = readSettings({ folders, environment });
    return { state: 'works', detail: 'readable; ./core config show lists them', fix: null };
  });
  return { finding, settings };
}

export function checkTokens(folders: Folders): Finding {
  return attempt('tokens', () => {
    const inForce = openTokens(folders)
      .list()
      .filter(({ revoked }) => revoked === null);
    if (inForce.length === 0)
      return { state: 'works', detail: 'none yet; the first start makes them', fix: null };
    return { state: 'works', detail: inForce.map(({ name }) => name).join(', '), fix: null };
  });
}

/** core-agentd's. */
export function checkDaemonPort(folders: Folders, { agentd }: Settings): Promise<Finding> {
  const running = runningService('core-agentd', folders);
  return checkPort(running ?? agentd, { running, setting: 'agentd.port in core.json', folders });
}

/** A service's own port, whether it runs or would be started. */
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

/** Whether the `model` planner has a model; the others need none. */
export function checkModels(folders: Folders): Finding {
  return attempt('models', () => {
    const missing = 'none configured; the patch planner needs none';
    const models = readKnownModels(folders);
    if (models.length === 0) return { state: 'missing', detail: missing, fix: './core model add' };
    const named = models.map(({ name, tier }) => (tier === null ? name : `${name} (${tier})`));
    const lacking = secretsOfModels(folders).filter((secret) => !existsSync(join(folders.secrets, secret)));
    if (lacking.length > 0) {
      const detail = `${named.join(', ')}; of their keys ${lacking.join(', ')} is missing in ${folders.secrets}`;
      return {
        state: 'warning',
        detail,
        fix: 'Write each key into the file of that name, readable by you alone.',
      };
    }
    return { state: 'works', detail: `${named.join(', ')}; ./core model check asks each`, fix: null };
  });
}

export async function checkPort(
  { host, port }: { readonly host: string; readonly port: number },
  {
    running,
    setting,
    folders,
  }: { readonly running: RunningAddress | null; readonly setting: string; readonly folders: Folders },
): Promise<Finding> {
  const name = `port ${port}`;
  const holder = await holderOf(host, port, answerMs({ folders, environment }));
  if (holder.kind === 'nobody') return { name, state: 'works', detail: `free on ${host}`, fix: null };
  // Its certificate is for its clients; that it listens where its note says is enough here.
  if (holder.kind === 'other' && running?.url.startsWith('https:'))
    return { name, state: 'works', detail: `listens with TLS on ${host}`, fix: null };
  const detail =
    holder.kind === 'silent'
      ? `taken on ${host} by ${describeHolder(holder)}`
      : `${describeHolder(holder)} answers on ${host}${toTell(holder)}`;
  if (holder.kind === 'core' && holder.health.status !== 'failing')
    return { name, state: 'works', detail, fix: null };
  if (holder.kind === 'silent' && running !== null)
    return {
      name,
      state: 'warning',
      detail,
      fix: 'It may be busy or halted: ./core status says which. answers.seconds in core.json gives it longer.',
    };
  if (holder.kind === 'core')
    return { name, state: 'broken', detail, fix: `Its checks: http://${host}:${port}/healthz` };
  return { name, state: 'broken', detail, fix: `End it, or set ${setting}.` };
}

/** What does less than it could, and whether the model answers that makes vectors of memories. */
function toTell(holder: PortHolder): string {
  if (holder.kind !== 'core') return '';
  const told = Object.entries(holder.health.checks).filter(
    ([name, { status }]) => status !== 'ok' || name === 'embeddings',
  );
  return told.map(([name, { detail }]) => `; ${name}: ${detail}`).join('');
}

export function attempt(name: string, check: () => Omit<Finding, 'name'>): Finding {
  try {
    return { name, ...check() };
  } catch (error) {
    return broken(name, error);
  }
}

export function broken(name: string, error: unknown): Finding {
  const fix = error instanceof CoreError ? (error.hint ?? null) : null;
  return { name, state: 'broken', detail: messageOf(error), fix };
}
