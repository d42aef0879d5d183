import { overlap, type Span, sharedClock } from '../fixtures/history/history.ts';

/** When the database was allowed to lose what it acknowledged: from the end of replication until the standby took over. */
export class Losses {
  readonly #spans: { readonly from: number; to: number }[] = [];

  /** @returns ends it */
  begin(): () => void {
    const span = { from: sharedClock(), to: Number.POSITIVE_INFINITY };
    this.#spans.push(span);
    return () => {
      span.to = sharedClock();
    };
  }

  get spans(): readonly Span[] {
    return this.#spans;
  }

  /** Whether what was asked for and acknowledged within this time may be lost. */
  mayInclude(span: Span): boolean {
    return this.#spans.some((loss) => overlap(loss, span));
  }
}
