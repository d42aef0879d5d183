import type { SmokeReport, StatusReport } from '#kit/contracts/status.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ownVersion } from '#kit/own-version.ts';
import { checkPlatform } from './check.ts';
import { readStatusConfig } from './configuration.ts';
import { withHome } from './fixes.ts';
import { findPlaces } from './places.ts';
import { makeReport } from './report.ts';
import { createTokenShower } from './token-shower.ts';

export interface StatusOptions {
  readonly home: string | undefined;
  readonly smoke: boolean;
}

/** Milliseconds for all questions together. */
const withinMs = { most: 1_500, least: 1_000 } as const;
/** By then, in milliseconds after the start of the process, they have ended, so that with its end it is less than two seconds. */
const sinceStartMs = 1_800;

/** On a machine that is slow to start it there is time for answers all the same. */
function firstWithinMs(): number {
  return Math.min(withinMs.most, Math.max(withinMs.least, Math.round(sinceStartMs - performance.now())));
}

/** The report; what is configured wrongly is a problem in it. */
export async function status(options: StatusOptions): Promise<StatusReport> {
  return withHome(await reportOn(options), options.home);
}

async function reportOn({ home, smoke }: StatusOptions): Promise<StatusReport> {
  const folders = resolveFolders({ home }, environment);
  try {
    const config = readStatusConfig(folders);
    const places = findPlaces(folders, environment);
    const shower = createTokenShower(folders, config.vouched);
    const check = (timeoutMs: number) => checkPlatform({ folders, config, places, shower, timeoutMs });
    const findings = await check(firstWithinMs());
    const report = makeReport({ ...findings, smoke: null });
    if (!smoke) return report;
    const missing = missingForSmoke(report);
    if (missing !== null)
      return report.ok
        ? makeReport({ ...findings, smoke: notTried(missing) })
        : { ...report, smoke: notTried(missing) };
    const { runSmoke } = await import('./smoke/smoke.ts');
    const tried = await runSmoke({ folders, environment, places, shower });
    // As it is with the run that was just made.
    return makeReport({ ...(await check(withinMs.most)), smoke: tried });
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return brokenReport(error);
  }
}

/** What is not well already would only be found again, later and with fewer words. null where all is there that it goes through. */
function missingForSmoke({ ok, problems, http, services }: StatusReport): string | null {
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
    iii: {
      url: '',
      engine: null,
      telemetry_disabled: null,
      in_memory_warning_present: null,
      config_file_active: null,
      functions: { registered: [], missing: [] },
      unknown: {},
    },
    storage: { runs_count: null, detail: 'not asked' },
    latest_runs: [],
    problems: [problem],
    warnings: [],
    smoke: null,
  };
}
