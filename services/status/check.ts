import type { Environment } from '#kit/environment.ts';
import { CoreError } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { ownVersion } from '#kit/own-version.ts';
import { tokenAtHand } from '#kit/tokens.ts';
import { chooseManager } from './choose-manager.ts';
import type { StatusConfig } from './configuration.ts';
import { askEndpoint, isService } from './endpoints.ts';
import { engineReport } from './engine/engine-report.ts';
import { readEngine } from './engine/read-engine.ts';
import type { Places } from './places.ts';
import type { Findings } from './report.ts';
import { readRuns } from './runs.ts';

export interface CheckOptions {
  readonly folders: Folders;
  readonly environment: Environment;
  readonly config: StatusConfig;
  readonly places: Places;
  /** Milliseconds for everything together. */
  readonly timeoutMs: number;
}

/**
 * Asks everything at the same time; what does not answer in time counts as not well. Only who says that it is the service is shown a
 * token. Never throws for what it asks.
 */
export async function checkPlatform(options: CheckOptions): Promise<Omit<Findings, 'smoke'>> {
  const { folders, config, places, timeoutMs } = options;
  const started = performance.now();
  const signal = AbortSignal.timeout(timeoutMs);
  const left = () => Math.max(1, Math.round(timeoutMs - (performance.now() - started)));
  const token = tokenOrNone(() => tokenAtHand(folders));
  const asked = places.endpoints.map((endpoint) => askEndpoint(endpoint, { timeoutMs, signal }));

  async function engineOfOurs() {
    const { url, wants_token } = places.bus;
    const known =
      wants_token && (await isService('core-bus-engine', url.replace(/^ws/, 'http'), { timeoutMs, signal }));
    return readEngine({ url, token: known ? token : null, timeoutMs: left() });
  }

  async function runsOfOurs() {
    const { agentd } = places;
    const known = await isService('core-agentd', agentd, { timeoutMs, signal });
    return readRuns(agentd, { timeoutMs: left(), signal, token: known ? token : null });
  }

  const [managed, engine, runs, ...answers] = await Promise.all([
    chooseManager(config, folders, signal),
    engineOfOurs(),
    runsOfOurs(),
    ...asked,
  ]);
  const log = await managed.manager.log('core-bus-engine', signal).catch(() => null);
  return {
    version: ownVersion(),
    took_ms: Math.round(performance.now() - started),
    managed,
    production_like:
      config.production_like === 'auto'
        ? managed.manager.kind === 'compose'
        : config.production_like === 'yes',
    optional: config.optional,
    unused: places.unused,
    endpoints: Object.fromEntries(places.endpoints.map(({ service }, index) => [service, answers[index]!])),
    engine: engineReport(places.bus.url, { ...engine, log }),
    worker: engine.worker,
    unreachable: engine.unreachable,
    runs,
  };
}

/** A machine may have none yet; what needs one then says so. */
function tokenOrNone(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof CoreError) return null;
    throw error;
  }
}
