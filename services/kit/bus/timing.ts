/** Milliseconds and bounds of a client of the bus. */
export interface BusTiming {
  /** For a connection to open and to be greeted. */
  readonly openingMs: number;
  /** Between two pings; a peer from which nothing comes for three of them is dead. */
  readonly pingMs: number;
  /** Before the second attempt to connect; doubles with each, up to `eagerWaitMs` during the first minute, then up to `mostWaitMs`. */
  readonly firstWaitMs: number;
  readonly eagerWaitMs: number;
  readonly mostWaitMs: number;
  /** A connection that lasted so long was a good one: the next attempt is a first one again. */
  readonly steadyMs: number;
  /** Between two looks whether the bus still lists what was registered. */
  readonly lookAfterMs: number;
}

export const usualTiming: BusTiming = {
  openingMs: 10_000,
  pingMs: 20_000,
  firstWaitMs: 50,
  eagerWaitMs: 1_400,
  mostWaitMs: 5_000,
  steadyMs: 5_000,
  lookAfterMs: 2_000,
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
 * Doubles with each failure, up to the most, with a third of jitter either way.
 * @param failingMs since the first of these failures
 */
export function waitBefore(failures: number, failingMs: number, timing: BusTiming): number {
  const { firstWaitMs, eagerWaitMs, mostWaitMs } = timing;
  const most = failingMs < eagerForMs ? Math.min(eagerWaitMs, mostWaitMs) : mostWaitMs;
  const wait = Math.min(most, firstWaitMs * 2 ** Math.min(failures, 30));
  return wait * (2 / 3 + (Math.random() * 2) / 3);
}
