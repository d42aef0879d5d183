import { answerMs } from '#kit/config/settings.ts';
import type { SmokeReport, StatusReport } from '#kit/contracts/status.ts';
import { counted } from '#kit/counted.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';
import { ownVersion } from '#kit/program.ts';
import { checkPlatform } from './check.ts';
import { readStatusConfig, type StatusConfig } from './configuration.ts';
import { chooseManager, type Managed } from './managers/choose-manager.ts';
import { deployedTokens, findPlaces, type Places, publishedPlaces } from './places.ts';
import { makeReport } from './report.ts';
import { runsOnDisk } from './runs-on-disk.ts';
import { withHome } from './summary.ts';
import { createTokenShower, type TokenShower } from './token-shower.ts';

export interface StatusOptions {
  readonly home: string | undefined;
  readonly smoke: boolean;
}

/** The report; what is configured wrongly is a problem in it. */
export async function status(options: StatusOptions): Promise<StatusReport> {
  return withHome(await reportOn(options), options.home);
}

async function reportOn({ home, smoke }: StatusOptions): Promise<StatusReport> {
  const folders = resolveFolders({ home }, environment);
  try {
    const config = readStatusConfig(folders);
    const timeoutMs = answerMs({ folders, environment });
    const first = await chooseManager(config, folders, AbortSignal.timeout(timeoutMs));
    const { places, shower } = reachOf(first, { folders, config });
    const check = (managed: Promise<Managed>) =>
      checkPlatform({ config, places, shower, timeoutMs, managed });
    const asked = await check(Promise.resolve(first));
    const local = first.manager.deployment === undefined && asked.endpoints['core-agentd']?.ok !== true;
    const findings = local ? { ...asked, runs: await runsOnDisk(folders, timeoutMs) } : asked;
    const report = makeReport({ ...findings, smoke: null });
    if (!smoke) return report;
    const missing = missingForSmoke(report, first);
    if (missing !== null)
      return report.ok
        ? makeReport({ ...findings, smoke: notTried(missing) })
        : { ...report, smoke: notTried(missing) };
    const { runSmoke } = await import('./smoke/smoke.ts');
    const tried = await runSmoke({ folders, environment, places, shower });
    // As it is with the run that was just made.
    const after = await check(chooseManager(config, folders, AbortSignal.timeout(timeoutMs)));
    const { arrows } = makeReport({ ...after, smoke: null });
    return makeReport({ ...after, smoke: withArrows(tried, arrows) });
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return brokenReport(error);
  }
}

/** Places and tokens, as the manager publishes them where it does, else as configured. */
function reachOf(
  { manager }: Managed,
  { folders, config }: { readonly folders: Folders; readonly config: StatusConfig },
): { readonly places: Places; readonly shower: TokenShower } {
  const deployment = manager.deployment?.() ?? null;
  if (deployment === null) {
    const places = findPlaces(folders, environment);
    return { places, shower: createTokenShower(folders, config.vouched) };
  }
  const { places, origins } = publishedPlaces(deployment, folders, environment);
  const tokens = deployedTokens(deployment, folders, environment);
  return { places, shower: createTokenShower({ ...folders, ...tokens }, [...config.vouched, ...origins]) };
}

/** Adds a step: every connection between services works, also those that the event of the smoke run does not use. */
export function withArrows(smoke: SmokeReport, arrows: StatusReport['arrows']): SmokeReport {
  if (!smoke.ok) return smoke;
  const broken = arrows.filter(({ ok }) => !ok);
  const detail =
    broken.length === 0
      ? `${counted(arrows.length, 'connection works', 'connections work')}: ${arrows.map(({ from, to }) => `${from} to ${to}`).join(', ')}`
      : broken.map(({ from, to, detail }) => `${from} does not reach ${to}: ${detail}`).join('; ');
  const ok = broken.length === 0;
  return {
    ...smoke,
    ok,
    steps: [...smoke.steps, { step: 'connections between services', ok, detail, took_ms: 0 }],
  };
}

/** What is not well already would only be found again, later and with fewer words. null where all is there that it goes through. */
function missingForSmoke(
  { ok, problems, http, services }: StatusReport,
  { manager }: Managed,
): string | null {
  if (manager.deployment !== undefined)
    return 'its demo repository has to lie where the services see it: docker compose run --rm tools core-status --smoke';
  if (!ok) return `${problems.map(({ part }) => part).join(', ')} must be well first`;
  const away = ['core-bridge', 'core-agentd'].find((name) => http[name]?.ok !== true);
  if (away !== undefined) return `it goes through ${away}: ${http[away]?.detail ?? 'it is not used here'}`;
  const left = services['core-bus-worker'];
  return left?.state === 'left_out'
    ? `it goes through core-bus-worker, which is left out: ${left.detail}`
    : null;
}

function notTried(why: string): SmokeReport {
  const steps = [{ step: 'preparation', ok: false, detail: `not tried: ${why}`, took_ms: 0 }];
  return { ok: false, run_id: null, event_id: null, steps, repositories: [], changed: [] };
}

/** Where even the questions cannot be asked. */
function brokenReport(error: CoreError): StatusReport {
  const problem = { part: 'settings', detail: messageOf(error), fix: error.hint ?? null };
  return {
    ok: false,
    version: ownVersion(),
    at: new Date().toISOString(),
    took_ms: 0,
    manager: { kind: 'unknown', production_like: false, detail: 'not asked' },
    services: {},
    http: {},
    here: {},
    iii: {
      url: '',
      engine: null,
      telemetry_disabled: null,
      in_memory_warning_present: null,
      config_file_active: null,
      functions: { registered: [], missing: [] },
      unknown: {},
    },
    arrows: [],
    backlogs: [],
    storage: { runs_count: null, detail: 'not asked' },
    latest_runs: [],
    problems: [problem],
    warnings: [],
    smoke: null,
  };
}
