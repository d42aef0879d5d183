import * as t from 'io-ts';
import {
  EventList,
  EventView,
  eventStates,
  ProcessBody,
  ProcessReply,
} from '#kit/contracts/bridge/events.ts';
import { oneOf } from '#kit/decode.ts';
import {
  type ParameterDescription,
  queryInteger,
  queryValue,
  type Route,
  type RouteRequest,
  route,
  routeWithBody,
} from '#kit/http/route.ts';
import type { Processing } from '../processing/processing.ts';
import type { EventPage, EventQueue } from '../queue/event-queue.ts';
import { eventView } from '../queue/stored-event.ts';

const pageParameters: Readonly<Record<string, ParameterDescription>> = {
  limit: { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
  cursor: { description: '`next_cursor` of the page before', schema: { type: 'string' } },
};

export function eventRoutes(queue: EventQueue, processing: Processing): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/events/pending',
        summary: 'Events that wait to be planned, in the order of their arrival',
        scope: 'read',
        query: pageParameters,
        answers: { 200: { description: 'One page', content: EventList } },
      },
      async ({ query }) => ({ json: pageView(await queue.list({ state: 'pending', ...pageOf(query) })) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/events',
        summary: 'Events, newest first; pending ones in the order of their arrival',
        scope: 'read',
        query: {
          state: { description: 'Only of this state', schema: { type: 'string', enum: [...eventStates] } },
          ...pageParameters,
        },
        answers: { 200: { description: 'One page', content: EventList } },
      },
      async ({ query }) => {
        const state =
          query.state === undefined ? {} : { state: queryValue(oneOf(eventStates), query.state, 'state') };
        return { json: pageView(await queue.list({ ...state, ...pageOf(query) })) };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/events/{event_id}',
        summary: 'One event with what became of it',
        scope: 'read',
        answers: { 200: { description: 'The event', content: EventView } },
      },
      async ({ params }) => ({ json: eventView(await queue.get(params.event_id!)) }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/events/process-next',
        summary: 'Have the next event planned, and answer when it is; `event` is null where none is due',
        scope: 'plan',
        body: ProcessBody,
        bodyOptional: true,
        answers: {
          200: { description: 'What became of it', content: ProcessReply },
          202: { description: 'It is planned now (`wait` was false)', content: ProcessReply },
        },
      },
      async ({ body }) => {
        const taken = await processing.take(body.event_id ?? undefined);
        if (taken === null) return { json: await processReply(queue, null) };
        if (body.wait ?? true) return { json: await processReply(queue, eventView(await taken.ended)) };
        taken.ended.catch(() => {});
        return { status: 202, json: await processReply(queue, eventView(taken.event)) };
      },
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/events/{event_id}/retry',
        summary: 'Make a dead event pending again; where its run failed, it gets another one',
        scope: 'plan',
        body: t.strict({}),
        bodyOptional: true,
        answers: { 200: { description: 'The event', content: EventView } },
      },
      async ({ params }) => {
        const event = await queue.revive(params.event_id!);
        processing.wake();
        return { json: eventView(event) };
      },
    ),
  ];
}

async function processReply(queue: EventQueue, event: EventView | null): Promise<ProcessReply> {
  const due = await queue.nextDue();
  const { pending } = await queue.counts();
  return { event, pending, next_due_at: due === null ? null : new Date(due.at).toISOString() };
}

function pageView({ events, next_cursor }: EventPage): EventList {
  return { events: events.map(eventView), next_cursor };
}

function pageOf({ limit = '10', cursor }: RouteRequest['query']): { limit: number; cursor?: string } {
  return { limit: queryInteger('limit', limit, 1, 100), ...(cursor === undefined ? {} : { cursor }) };
}
