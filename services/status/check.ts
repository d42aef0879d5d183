import * as t from 'io-ts';
import type { ServiceName } from '#kit/config/running-service.ts';
import { RunList, type RunSummary } from '#kit/contracts/run.ts';
import type { EndpointReport, EngineReport, SmokeReport, StatusReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import { ownVersion } from '#kit/program.ts';
import type { StatusConfig } from './configuration.ts';
import { askEndpoint, type Endpoint, type HttpQuestion, httpAnswer, problemIn } from './endpoints.ts';
import { engineReport, readEngine, unreachableEngine, type WorkerAnswer } from './engine.ts';
import type { Managed } from './managers/choose-manager.ts';
import type { Places } from './places.ts';
import { type TokenShower, unprovenFix } from './token-shower.ts';

export interface Findings {
  readonly version: string;
  readonly took_ms: number;
  readonly managed: Managed;
  readonly production_like: boolean;
  /** Services that may be away, by the configuration. */
  readonly optional: readonly string[];
  /** Services that this installation does without, with the reason. */
  readonly unused: ReadonlyMap<string, string>;
  readonly endpoints: Readonly<Record<string, Omit<EndpointReport, 'required'>>>;
  /** Of services that run here and are not the ones of `endpoints`. */
  readonly here: Readonly<Record<string, Omit<EndpointReport, 'required'>>>;
  readonly engine: EngineReport;
  readonly worker: WorkerAnswer;
  /** Why the bus could not be reached. */
  readonly unreachable: string | null;
  readonly runs: StoredRuns;
  /** The ways of this command itself. */
  readonly arrows: StatusReport['arrows'];
  readonly smoke: SmokeReport | null;
}

interface CheckOptions {
  readonly config: StatusConfig;
  readonly places: Places;
  readonly shower: TokenShower;
  /** Milliseconds for everything together. */
  readonly timeoutMs: number;
  readonly managed: Promise<Managed>;
}

/** The way of this command to a service with its own token; null where none is shown, or nothing answers. */
async function ownArrow(
  { service, url, ca = null }: Endpoint,
  { shower, ...limits }: Pick<HttpQuestion, 'timeoutMs' | 'signal'> & { readonly shower: TokenShower },
): Promise<StatusReport['arrows'][number] | null> {
  const token = shower.text(service as ServiceName, url);
  if (token === null) return null;
  const answer = await httpAnswer(`${url}/v1/token`, { ...limits, ca, token });
  if (answer.status === null) return null;
  const ok = answer.status === 200;
  const detail = ok
    ? 'answers, and takes the token'
    : `answers ${answer.status}: ${problemIn(answer.text).detail}`;
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

  const own = places.endpoints.filter(({ health }) => health);
  const [managed, startedWith, engine, runs, arrows, here, ...answers] = await Promise.all([
    options.managed,
    options.managed.then(({ manager }) => manager.environment('core-bus-engine', signal)).catch(() => null),
    engineOfOurs(),
    readRuns(places.agentd, { timeoutMs, signal, shower }),
    Promise.all(own.map((endpoint) => ownArrow(endpoint, { timeoutMs, signal, shower }))).then((all) =>
      all.filter((arrow) => arrow !== null),
    ),
    Promise.all(places.here.map((endpoint) => askEndpoint(endpoint, { timeoutMs, signal }))),
    ...asked,
  ]);
  const found = answers.map((answer, index) => {
    const { service, url, isGiven = false } = places.endpoints[index]!;
    // Behind a container's port the note of a service is not to be seen, and behind a proxy there may be another host's.
    const isOwn = managed.manager.kind === 'embedded' && !isGiven;
    const why = isOwn && answer.health !== null ? shower.why(service, url) : null;
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
    here: Object.fromEntries(places.here.map(({ service }, index) => [service, here[index]!])),
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

interface StoredRuns {
  /** null where it does not report it. */
  readonly count: number | null;
  readonly latest: readonly RunSummary[];
  readonly detail: string;
  /** What to do where it does not; null where that is not known. */
  readonly fix: string | null;
}

export const latestRuns = 5;
const Storage = t.strict({ runs_count: t.number });

/** Asks nothing of a program that nothing shows to be ours, not even without a token: its answer is no fact. Never throws. */
async function readRuns(
  agentd: string,
  { shower, ...limits }: Pick<HttpQuestion, 'timeoutMs' | 'signal'> & { readonly shower: TokenShower },
): Promise<StoredRuns> {
  const why = shower.why('core-agentd', agentd);
  if (why !== null) return { count: null, latest: [], detail: `not asked: ${why}`, fix: unprovenFix };
  try {
    const question = { ...limits, token: shower.text('core-agentd', agentd) };
    const [list, storage] = await Promise.all([
      get(`${agentd}/v1/runs?limit=${latestRuns}`, question, RunList),
      get(`${agentd}/v1/storage`, question, Storage),
    ]);
    const detail = ['readable', ...list.problems].join('; ');
    return { count: storage.runs_count, latest: list.runs, detail, fix: null };
  } catch (error) {
    return { count: null, latest: [], detail: messageOf(error), fix: null };
  }
}

async function get<A>(url: string, question: HttpQuestion, codec: t.Type<A, unknown, unknown>): Promise<A> {
  const answer = await httpAnswer(url, question);
  if (answer.status === null) throw new Error(answer.message);
  if (answer.status !== 200)
    throw new Error(`${url} answers ${answer.status}: ${problemIn(answer.text).detail}`);
  return decodeJson(codec, answer.text, url);
}
