import type { Folders } from '#kit/folders.ts';
import { ownVersion } from '#kit/own-version.ts';
import { chooseManager } from './choose-manager.ts';
import type { StatusConfig } from './configuration.ts';
import { askEndpoint } from './endpoints.ts';
import { engineReport } from './engine/engine-report.ts';
import { readEngine, unreachableEngine } from './engine/read-engine.ts';
import type { Places } from './places.ts';
import type { Findings } from './report.ts';
import { readRuns } from './runs.ts';
import type { TokenShower } from './token-shower.ts';

export interface CheckOptions {
  readonly folders: Folders;
  readonly config: StatusConfig;
  readonly places: Places;
  readonly shower: TokenShower;
  /** Milliseconds for everything together. */
  readonly timeoutMs: number;
}

const otherInstallation =
  'It is of another installation: end that one, or start this one on other ports, see ./core up --help.';

/** Asks everything at the same time; what does not answer in time counts as not well. Never throws for what it asks. */
export async function checkPlatform(options: CheckOptions): Promise<Omit<Findings, 'smoke'>> {
  const { folders, config, places, shower, timeoutMs } = options;
  const started = performance.now();
  const signal = AbortSignal.timeout(timeoutMs);
  const asked = places.endpoints.map((endpoint) => askEndpoint(endpoint, { timeoutMs, signal }));

  async function engineOfOurs() {
    const { url, wants_token, ca } = places.bus;
    if (!wants_token) return readEngine({ url, token: () => null, ca, timeoutMs });
    const token = () => shower.text('core-bus-engine', url);
    const engine = await readEngine({ url, token, ca, timeoutMs });
    // Where nobody listens, no token would have helped.
    const taken = engine.unreachable !== null && !engine.unreachable.includes('ECONNREFUSED');
    const why = taken ? shower.why('core-bus-engine', url) : null;
    return why === null ? engine : unreachableEngine(`${engine.unreachable}; it was shown no token: ${why}`);
  }

  function runsOfOurs() {
    const { agentd } = places;
    return readRuns(agentd, { timeoutMs, signal, shower });
  }

  const [managed, engine, runs, ...answers] = await Promise.all([
    chooseManager(config, folders, signal),
    engineOfOurs(),
    runsOfOurs(),
    ...asked,
  ]);
  const found = answers.map((answer, index) => {
    const { service, url } = places.endpoints[index]!;
    // Behind a container's port the note of a service is not to be seen.
    const why =
      managed.manager.kind === 'embedded' && answer.health !== null ? shower.why(service, url) : null;
    if (why === null || !answer.ok) return answer;
    const detail = `${service} answers there, but it is not that of this state folder: ${why}`;
    return { ...answer, ok: false, detail, fix: otherInstallation };
  });
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
    endpoints: Object.fromEntries(places.endpoints.map(({ service }, index) => [service, found[index]!])),
    engine: engineReport(places.bus.url, { ...engine, log }),
    worker: engine.worker,
    unreachable: engine.unreachable,
    runs,
  };
}
