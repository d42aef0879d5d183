/** Milliseconds and bounds of a client of the bus. */
export interface BusTiming {
  /** For a connection to open and to be greeted. */
  readonly openingMs: number;
  /** Between two pings; a peer from which nothing comes for three of them is dead. */
  readonly pingMs: number;
  /** Before the second attempt to connect; doubles with each. */
  readonly firstWaitMs: number;
  readonly mostWaitMs: number;
  /** A connection that lasted so long was a good one: the next attempt is a first one again. */
  readonly steadyMs: number;
  /** Until what was refused is registered again: its name may be free by then. */
  readonly registerAgainMs: number;
}

export const usualTiming: BusTiming = {
  openingMs: 10_000,
  pingMs: 20_000,
  firstWaitMs: 50,
  mostWaitMs: 5_000,
  steadyMs: 5_000,
  registerAgainMs: 15_000,
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

/** Doubles with each failure, up to the most, with a third of jitter either way. */
export function waitBefore(failures: number, { firstWaitMs, mostWaitMs }: BusTiming): number {
  const wait = Math.min(mostWaitMs, firstWaitMs * 2 ** Math.min(failures, 30));
  return wait * (2 / 3 + (Math.random() * 2) / 3);
}
