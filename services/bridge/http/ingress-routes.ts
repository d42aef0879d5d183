import * as t from 'io-ts';
import { DashboardEvent } from '#kit/contracts/bridge/dashboard-event.ts';
import { IngressReply } from '#kit/contracts/bridge/events.ts';
import { Problem } from '#kit/contracts/problem.ts';
import { type Route, routeWithBytes } from '#kit/http/route.ts';
import type { Logger } from '#kit/log.ts';
import { IngressLog } from '../ingress/ingress-log.ts';
import {
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
  /** Told of every event that is stored. */
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
      anyQuery: true,
      // The log of ingress has a line for each, and a limit.
      debugBelow: 500,
      onError: (error) => log.refused(source.name, error),
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
      const read = source.read(received, senderOf(source, received));
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
  return {
    ...{ event_id, state, duplicate, target, role, run_id, reason },
    notes: [...notes],
    unknown_members: [...unknown],
  };
}

function ignoredReply({ code, message }: Extract<ReadEvent, { event: null }>): IngressReply {
  return {
    event_id: null,
    state: 'ignored',
    duplicate: false,
    target: null,
    role: null,
    run_id: null,
    reason: { code, message },
    notes: [],
    unknown_members: [],
  };
}
