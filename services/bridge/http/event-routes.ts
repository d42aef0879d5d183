import * as t from 'io-ts';
import {
  EventList,
  type EventState,
  EventView,
  eventStates,
  ProcessBody,
  ProcessReply,
} from '#kit/contracts/bridge/events.ts';
import { InvalidInput } from '#kit/errors.ts';
import {
  type ParameterDescription,
  type Route,
  type RouteRequest,
  route,
  routeWithBody,
} from '#kit/http/route.ts';
import type { Processing } from '../processing/processing.ts';
import type { EventPage, EventQueue } from '../queue/event-queue.ts';
import { eventView } from '../queue/stored-event.ts';

export interface EventRouteParts {
  readonly queue: EventQueue;
  readonly processing: Processing;
}

const pageParameters: Readonly<Record<string, ParameterDescription>> = {
  limit: { description: 'How many', schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 } },
  cursor: { description: '`next_cursor` of the page before', schema: { type: 'string' } },
};

export function eventRoutes({ queue, processing }: EventRouteParts): Route[] {
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
      async ({ query }) => ({ json: pageView(queue.list({ state: 'pending', ...pageOf(query) })) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/events',
        summary: 'Events, newest first; pending ones in the order of their arrival',
        scope: 'read',
        query: {
          state: { description: 'Only of this state', schema: { enum: [...eventStates] } },
          ...pageParameters,
        },
        answers: { 200: { description: 'One page', content: EventList } },
      },
      async ({ query }) => {
        const state = query.state === undefined ? {} : { state: stateOf(query.state) };
        return { json: pageView(queue.list({ ...state, ...pageOf(query) })) };
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
      async ({ params }) => ({ json: eventView(queue.get(params.event_id!)) }),
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
        if (taken === null) return { json: processReply(queue, null) };
        if (body.wait ?? true) return { json: processReply(queue, eventView(await taken.ended)) };
        taken.ended.catch(() => {});
        return { status: 202, json: processReply(queue, eventView(taken.event)) };
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
        const event = queue.revive(params.event_id!);
        processing.wake();
        return { json: eventView(event) };
      },
    ),
  ];
}

function processReply(queue: EventQueue, event: EventView | null): ProcessReply {
  const due = queue.nextDue();
  const { pending } = queue.counts();
  return { event, pending, next_due_at: due === null ? null : new Date(due).toISOString() };
}

function pageView({ events, next_cursor }: EventPage): EventList {
  return { events: events.map(eventView), next_cursor };
}

function pageOf({ limit = '10', cursor }: RouteRequest['query']): { limit: number; cursor?: string } {
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 100)
    throw invalid('limit', limit, 'an integer from 1 to 100');
  return { limit: Number(limit), ...(cursor === undefined ? {} : { cursor }) };
}

function stateOf(text: string): EventState {
  const state = eventStates.find((known) => known === text);
  if (state !== undefined) return state;
  throw invalid('state', text, `one of ${eventStates.join(', ')}`);
}

function invalid(name: string, text: string, rule: string): InvalidInput {
  const detail = `is ${JSON.stringify(text)}: must be ${rule}`;
  return new InvalidInput('invalid_query', `query parameter ${name} ${detail}`, {
    errors: [{ pointer: `/${name}`, detail }],
  });
}
