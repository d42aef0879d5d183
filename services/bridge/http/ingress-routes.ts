import type { IncomingMessage } from 'node:http';
import * as t from 'io-ts';
import { DashboardEvent } from '#kit/contracts/bridge/dashboard-event.ts';
import { IngressReply } from '#kit/contracts/bridge/events.ts';
import { Problem } from '#kit/contracts/problem.ts';
import { answerProblem } from '#kit/http/answer-problem.ts';
import { readJsonBytes } from '#kit/http/body.ts';
import type { RawRoute } from '#kit/http/raw-route.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction.ts';
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
  readonly redactor: Redactor;
  readonly logger: Logger;
  /** Told of every event that is stored. */
  readonly stored: (accepted: AcceptedEvent) => void;
}

/**
 * Where events come in. Open to everybody who signs: each source knows how. Raw, since every event waits for the disk and what
 * stands around it should cost less than that.
 */
export function ingressRoutes(sources: readonly IngressSource[], parts: IngressRouteParts): RawRoute[] {
  const log = new IngressLog(parts.logger);
  return sources.map((source) => ingressRoute(source, parts, log));
}

function ingressRoute(source: IngressSource, parts: IngressRouteParts, log: IngressLog): RawRoute {
  const path = `/v1/ingress/${source.name === 'dashboard' ? 'dashboard-issue' : source.name}`;
  const { queue, bodyBytes, redactor, logger, stored } = parts;
  const description = { description: 'Refused', content: Problem };
  return {
    method: 'POST',
    path,
    summary:
      source.name === 'dashboard'
        ? 'Take an event of a dashboard: with a token of scope plan, or signed'
        : `Take a webhook of ${source.name}: signed, or with a token of scope plan`,
    scope: null,
    body: source.name === 'dashboard' ? DashboardEvent : t.UnknownRecord,
    requestHeaders: Object.fromEntries(
      Object.entries(source.headers).map(([name, text]) => [
        name,
        { description: text, schema: { type: 'string' } },
      ]),
    ),
    answers: {
      202: { description: 'It is kept, or was before, or is of no use here', content: IngressReply },
      400: description,
      401: description,
      409: { description: 'The id came before with another content', content: Problem },
    },
    async handle(request, response, { identity, writeHead }) {
      const body = await readJsonBytes(request, bodyBytes);
      const received: IngressRequest = { body, identity, header: (name) => headerOf(request, name) };
      const by = senderOf(source, received);
      const read = source.read(received, by);
      const reply = read.event === null ? ignoredReply(read) : await keep(read);
      log.answered(source.name, reply);
      const bytes = Buffer.from(JSON.stringify(reply));
      writeHead(202, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(bytes.length),
      });
      response.end(bytes);
    },
    refuse(response, error, { id, writeHead }) {
      log.refused(source.name, error);
      answerProblem(response, error, { path, id }, { writeHead, redactor, logger });
    },
  };

  async function keep({ event, unknown_members }: Extract<ReadEvent, { unknown_members: unknown }>) {
    const accepted = await queue.accept(event);
    stored(accepted);
    return keptReply(accepted, unknown_members);
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
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
