import type { ServiceName } from '#kit/config/running-service.ts';
import type { StatusReport } from '#kit/contracts/status.ts';
import { environment } from '#kit/environment.ts';
import { ownVersion } from '#kit/own-version.ts';
import type { Managed } from './choose-manager.ts';
import type { StatusConfig } from './configuration.ts';
import { askEndpoint, type Endpoint } from './endpoints.ts';
import { engineReport } from './engine/engine-report.ts';
import { readEngine, unreachableEngine } from './engine/read-engine.ts';
import { type HttpQuestion, httpAnswer, problemIn } from './http-answer.ts';
import type { Places } from './places.ts';
import type { Findings } from './report.ts';
import { readRuns } from './runs.ts';
import type { TokenShower } from './token-shower.ts';

export interface CheckOptions {
  readonly config: StatusConfig;
  readonly places: Places;
  readonly shower: TokenShower;
  /** Milliseconds for everything together. */
  readonly timeoutMs: number;
  readonly managed: Promise<Managed>;
}

/** Whether a service takes the token of this command; null where it is shown none, and where it does not answer at all. */
async function ownArrow(
  { service, url, ca = null }: Endpoint,
  { shower, ...limits }: Pick<HttpQuestion, 'timeoutMs' | 'signal'> & { readonly shower: TokenShower },
): Promise<StatusReport['arrows'][number] | null> {
  const token = shower.text(service as ServiceName, url);
  if (token === null) return null;
  const answer = await httpAnswer(`${url}/v1/token`, { ...limits, ca, token });
  if (answer.status === null) return null;
  const ok = answer.status === 200;
  const detail = ok ? 'answers, and takes the token' : `answers ${answer.status}: ${problemIn(answer.text)}`;
  return { from: 'core-status', to: service, ok, detail };
}

const otherInstallation =
  'It is of another installation: end that one, or start this one on other ports, see ./core up --help.';

/** Asks everything at the same time; what does not answer in time counts as not well. Never throws for what it asks. */
export async function checkPlatform(options: CheckOptions): Promise<Omit<Findings, 'smoke'>> {
  const { config, places, shower, timeoutMs } = options;
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

  const own = places.endpoints.filter(({ health }) => health);
  const [managed, startedWith, engine, runs, arrows, ...answers] = await Promise.all([
    options.managed,
    options.managed.then(({ manager }) => manager.environment('core-bus-engine', signal)).catch(() => null),
    engineOfOurs(),
    runsOfOurs(),
    Promise.all(own.map((endpoint) => ownArrow(endpoint, { timeoutMs, signal, shower }))).then((all) =>
      all.filter((arrow) => arrow !== null),
    ),
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
    engine: engineReport(places.bus.url, { ...engine, telemetryEnabled: telemetryOf(startedWith) }),
    worker: engine.worker,
    unreachable: engine.unreachable,
    runs,
    arrows,
  };
}

/** iii sends telemetry unless it was started with a word against it. */
function telemetryOf(startedWith: Readonly<Record<string, string>> | null): string | null {
  if (startedWith === null) return environment.III_TELEMETRY_ENABLED ?? null;
  return startedWith.III_TELEMETRY_ENABLED ?? (startedWith.CI === undefined ? 'true' : 'false');
}
