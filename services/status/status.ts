import type { StatusReport } from '#kit/contracts/status.ts';
import { environment } from '#kit/environment.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ownVersion } from '#kit/own-version.ts';
import { checkPlatform } from './check.ts';
import { readStatusConfig } from './configuration.ts';
import { findPlaces } from './places.ts';
import { makeReport } from './report.ts';

export interface StatusOptions {
  readonly home: string | undefined;
  readonly smoke: boolean;
}

/** Milliseconds from the start of the process for the whole report, so that with what follows it takes less than two seconds. */
const withinMs = 1_700;
const leastMs = 500;

/** The report; what is configured wrongly is a problem in it. */
export async function status({ home, smoke }: StatusOptions): Promise<StatusReport> {
  const folders = resolveFolders({ home }, environment);
  try {
    const config = readStatusConfig(folders);
    const places = findPlaces(folders, environment);
    const timeoutMs = Math.max(leastMs, Math.round(withinMs - performance.now()));
    const found = await checkPlatform({ folders, environment, config, places, timeoutMs });
    if (!smoke) return makeReport({ ...found, smoke: null });
    const { runSmoke } = await import('./smoke/smoke.ts');
    return makeReport({ ...found, smoke: await runSmoke({ folders, environment, places }) });
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return brokenReport(error);
  }
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
