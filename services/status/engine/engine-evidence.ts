import type { Health } from '#kit/contracts/health.ts';

/** Workers of the engine whose configuration tells what the report says. */
export const configurationIds = [
  'core-bus-engine',
  'iii-telemetry',
  'iii-state',
  'iii-stream',
  'iii-queue',
  'iii-cron',
] as const;
export type ConfigurationId = (typeof configurationIds)[number];

/** How core-bus-worker answers a call. */
export interface WorkerAnswer {
  readonly ok: boolean;
  readonly detail: string;
  readonly took_ms: number;
  /** How it reaches the services that it asks; null where it does not say. */
  readonly reaches: Health['checks'] | null;
}

/** What was heard from the engine; null where nothing came. */
export interface EngineEvidence {
  /** Why the bus could not be reached; null where it was. */
  readonly unreachable: string | null;
  /** Answer of `engine::health::check`. */
  readonly health: unknown;
  /** `configuration::get` by id; null where the engine does not know it. */
  readonly configuration: Readonly<Partial<Record<ConfigurationId, unknown>>>;
  /** Ids of `engine::functions::list`. */
  readonly functions: readonly string[] | null;
  readonly worker: WorkerAnswer;
  /** `III_TELEMETRY_ENABLED`, where whoever started the engine tells it. */
  readonly telemetryEnabled: string | null;
}
