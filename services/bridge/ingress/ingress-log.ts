import type { IngressReply } from '#kit/contracts/bridge/events.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';

/** So many lines in a minute: whoever sets up a webhook sees each request, and a flood fills no disk. */
const linesPerMinute = 30;
const minuteMs = 60_000;

/** What became of requests that bring events, for who looks why nothing arrives. */
export class IngressLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #since = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #untold = 0;

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  /** @param source of the requests, as in `dashboard` */
  answered(source: string, { event_id, state, duplicate, reason }: IngressReply): void {
    if (duplicate) return;
    const why = reason === null ? '' : `: ${reason.message}`;
    this.#tell(`event ${state}${why}`, {
      source,
      event_id,
      ...(reason === null ? {} : { code: reason.code }),
    });
  }

  refused(source: string, error: unknown): void {
    this.#tell(`event refused: ${messageOf(error)}`, { source, code: codeOf(error) });
  }

  #tell(message: string, facts: Readonly<Record<string, unknown>>): void {
    const now = this.#now();
    if (now - this.#since >= minuteMs) {
      this.#since = now;
      this.#lines = 0;
    }
    if (this.#lines >= linesPerMinute) {
      this.#untold++;
      return;
    }
    this.#lines++;
    this.#logger.info(message, {
      ...facts,
      ...(this.#untold === 0 ? {} : { not_told_before: this.#untold }),
    });
    this.#untold = 0;
  }
}
