/**
 * By both clocks of this process, in milliseconds: the one that nobody sets stands still while the machine sleeps, the other may be
 * set. What either says to be over is over.
 */
export interface Moment {
  readonly steady: number;
  readonly wall: number;
}

export function momentIn(ms: number): Moment {
  return { steady: performance.now() + ms, wall: Date.now() + ms };
}

export function msUntil({ steady, wall }: Moment): number {
  return Math.min(steady - performance.now(), wall - Date.now());
}
