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
  /** The engine's log, where its service manager keeps one. */
  readonly log: string | null;
}
