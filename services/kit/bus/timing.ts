/** Milliseconds and bounds of a client of the bus. */
export interface BusTiming {
  /** For a connection to open and to be greeted. */
  readonly openingMs: number;
  /** Between two pings; a peer from which nothing comes for three of them is dead. */
  readonly pingMs: number;
  /** Before the second attempt to connect; doubles with each, up to `eagerWaitMs` during the first minute, then up to `maxWaitMs`. */
  readonly firstWaitMs: number;
  readonly eagerWaitMs: number;
  readonly maxWaitMs: number;
  /** After a connection that lasted so long, waits start from `firstWaitMs` again. */
  readonly steadyMs: number;
  /** Between two checks whether the bus still lists what was registered. */
  readonly recheckMs: number;
}

export const defaultTiming: BusTiming = {
  openingMs: 10_000,
  pingMs: 20_000,
  firstWaitMs: 50,
  eagerWaitMs: 1_400,
  maxWaitMs: 5_000,
  steadyMs: 5_000,
  recheckMs: 2_000,
};

/** Calls that wait for a connection or an answer, results that wait for a connection, handlers at work. */
export const busLimits = {
  calls: 10_000,
  waitingCalls: 1_000,
  waitingResults: 1_000,
  handlers: 1_000,
  /** Bytes of one frame. */
  frameBytes: 16 * 1024 * 1024,
  /** Bytes that the socket has not taken yet. */
  unsentBytes: 64 * 1024 * 1024,
} as const;

const eagerForMs = 60_000;

/**
 * Doubles with each failure, up to its limit, with a third of jitter either way.
 * @param failingMs since the first of these failures
 */
export function waitBefore(failures: number, failingMs: number, timing: BusTiming): number {
  const { firstWaitMs, eagerWaitMs, maxWaitMs } = timing;
  const limit = failingMs < eagerForMs ? Math.min(eagerWaitMs, maxWaitMs) : maxWaitMs;
  const wait = Math.min(limit, firstWaitMs * 2 ** Math.min(failures, 30));
  return wait * (2 / 3 + (Math.random() * 2) / 3);
}
