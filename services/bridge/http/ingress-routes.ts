import * as t from 'io-ts';
import { DashboardEvent } from '#kit/contracts/bridge/dashboard-event.ts';
import { IngressReply } from '#kit/contracts/bridge/events.ts';
import { Problem } from '#kit/contracts/problem.ts';
import { codeOf, messageOf, TooLarge, Unauthorized } from '#kit/errors.ts';
import { type Route, routeWithBytes } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import {
  type IgnoredEvent,
  type IngressRequest,
  type IngressSource,
  type ReadEvent,
  senderOf,
} from '../ingress/ingress-source.ts';
import type { AcceptedEvent } from '../queue/accept-event.ts';
import type { EventQueue } from '../queue/event-queue.ts';

export interface IngressRouteParts {
  readonly queue: Pick<EventQueue, 'accept'>;
  readonly bodyBytes: number;
  readonly logger: Logger;
  /** Called for every event that is stored. */
  readonly stored: (accepted: AcceptedEvent) => void;
}

/** Where events come in. Open to everybody who signs: each source knows how. */
export function ingressRoutes(sources: readonly IngressSource[], parts: IngressRouteParts): Route[] {
  const log = new IngressLog(parts.logger);
  return sources.map((source) => ingressRoute(source, parts, log));
}

function ingressRoute(source: IngressSource, parts: IngressRouteParts, log: IngressLog): Route {
  const { queue, bodyBytes, stored } = parts;
  const refused = { description: 'Refused', content: Problem };
  return routeWithBytes(
    {
      method: 'POST',
      path: `/v1/ingress/${source.name === 'dashboard' ? 'dashboard-issue' : source.name}`,
      summary:
        source.name === 'dashboard'
          ? 'Take an event of a dashboard: with a token of scope plan, or signed'
          : `Take a webhook of ${source.name}: signed, or with a token of scope plan`,
      scope: null,
      body: source.name === 'dashboard' ? DashboardEvent : t.UnknownRecord,
      bodyLimit: bodyBytes,
      typeHint: source.typeHint,
      anyQuery: true,
      // The log of ingress has a line for each, and a limit.
      debugBelow: 500,
      errorReply(error, { headers }) {
        const ignored = error instanceof TooLarge ? source.ignoredBy(headers) : null;
        if (ignored === null) {
          log.refused(source.name, error);
          return null;
        }
        const reply = ignoredReply(ignored);
        log.answered(source.name, reply);
        return { status: 202, json: reply };
      },
      requestHeaders: Object.fromEntries(
        Object.entries(source.headers).map(([name, text]) => [
          name,
          { description: text, schema: { type: 'string' } },
        ]),
      ),
      answers: {
        202: { description: 'It is kept, or was before, or is of no use here', content: IngressReply },
        400: refused,
        401: refused,
        409: { description: 'The id came before with another content', content: Problem },
      },
    },
    async ({ body, identity, header }) => {
      const received: IngressRequest = { body, identity, header };
      const sender = senderOf(source, received);
      const read = source.read(received, sender);
      const reply = read.event === null ? ignoredReply(read) : await keep(read);
      log.answered(source.name, reply);
      return { status: 202, json: reply };
    },
  );

  async function keep({ event, unknown_members }: Extract<ReadEvent, { unknown_members: unknown }>) {
    const accepted = await queue.accept(event);
    stored(accepted);
    return keptReply(accepted, unknown_members);
  }
}

function keptReply({ event, duplicate }: AcceptedEvent, unknown: readonly string[]): IngressReply {
  const { event_id, state, target, role, run_id, reason, notes } = event;
  const kept = { event_id, state, duplicate, target, role, run_id, reason };
  return { ...kept, notes: [...notes], unknown_members: unknown.map(maskedText) };
}

function ignoredReply({ code, message }: IgnoredEvent): IngressReply {
  const none = { event_id: null, duplicate: false, target: null, role: null, run_id: null };
  const reason = { code, message: maskedText(message) };
  return { ...none, state: 'ignored', reason, notes: [], unknown_members: [] };
}

/** So many lines in a minute: whoever sets up a webhook sees each request, and a flood fills no disk. */
const linesPerMinute = 30;
const minuteMs = 60_000;

/** What became of requests that bring events, for who looks why nothing arrives. */
export class IngressLog {
  readonly #logger: Logger;
  readonly #now: () => number;
  #since = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #suppressed = 0;

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  /** @param source of the requests, as in `dashboard` */
  answered(source: string, { event_id, state, duplicate, reason }: IngressReply): void {
    if (duplicate) return;
    const why = reason === null ? '' : `: ${reason.message}`;
    this.#log(`event ${state}${why}`, {
      source,
      event_id,
      ...(reason === null ? {} : { code: reason.code }),
    });
  }

  /** Of a sender that is not known, the answer does not say what is wrong here; the log does. */
  refused(source: string, error: unknown): void {
    const why = error instanceof Unauthorized && error.cause !== undefined ? error.cause : error;
    this.#log(`event refused: ${messageOf(why)}`, { source, code: codeOf(why) });
  }

  #log(message: string, facts: Readonly<Record<string, unknown>>): void {
    const now = this.#now();
    if (now - this.#since >= minuteMs) {
      this.#since = now;
      this.#lines = 0;
    }
    if (this.#lines >= linesPerMinute) {
      this.#suppressed++;
      return;
    }
    this.#lines++;
    this.#logger.info(message, {
      ...facts,
      ...(this.#suppressed === 0 ? {} : { not_told_before: this.#suppressed }),
    });
    this.#suppressed = 0;
  }
}
