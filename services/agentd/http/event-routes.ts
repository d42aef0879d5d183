import { once } from 'node:events';
import { InvalidInput } from '#kit/errors.ts';
import { type EventSink, type Route, route } from '#kit/http/route.ts';
import type { Redactor } from '#kit/redaction.ts';
import type { Agent, ProgressUpdate } from '../agent.ts';
import type { BackgroundWork } from './background-work.ts';

/** Other processes write runs too, and tell nobody: so often, in milliseconds, the log is looked at. */
const lookEveryMs = 400;
/** Progress that a slow client has not taken; the oldest goes, the record has all that matters. */
const mostUpdates = 1_000;

export function eventRoutes(agent: Agent, work: BackgroundWork, redactor: Redactor): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/events',
        summary:
          'The events of a run, those recorded first, then live. Each has its seq as id and its type as event; progress of work in this daemon comes between as `progress`, without id',
        scope: 'read',
        requestHeaders: {
          'Last-Event-ID': {
            description: 'seq of the last event seen; the stream goes on behind it',
            schema: { type: 'integer', minimum: 0 },
          },
        },
        answers: { 200: { description: 'Events until the client goes', content: 'text/event-stream' } },
      },
      async ({ params, header }) => {
        const after = parseLastEventId(header('last-event-id'));
        const { run_id } = await agent.run(params.run_id!);
        return { stream: (sink) => follow({ agent, work, redactor }, run_id, after, sink) };
      },
    ),
  ];
}

interface Followed {
  readonly agent: Agent;
  readonly work: BackgroundWork;
  readonly redactor: Redactor;
}

async function follow(
  { agent, work, redactor }: Followed,
  runId: string,
  after: number,
  sink: EventSink,
): Promise<void> {
  const news = new EventTarget();
  const updates: ProgressUpdate[] = [];
  const unwatch = work.watch(runId, (update) => {
    if (update !== null) updates.push(update);
    if (updates.length > mostUpdates) updates.shift();
    news.dispatchEvent(new Event('news'));
  });
  const look = setInterval(() => news.dispatchEvent(new Event('news')), lookEveryMs);
  let seen = after;
  try {
    while (!sink.signal.aborted) {
      for (const event of await agent.events(runId, seen)) {
        await sink.send({ id: String(event.seq), event: event.type, data: event });
        seen = event.seq;
      }
      for (const update of updates.splice(0)) {
        await sink.send({ event: 'progress', data: redactor.redactDeep(update) });
      }
      await once(news, 'news', { signal: sink.signal }).catch(() => {});
    }
  } finally {
    clearInterval(look);
    unwatch();
  }
}

function parseLastEventId(text: string | undefined): number {
  if (text === undefined) return 0;
  const seq = Number(text);
  if (/^\d{1,15}$/.test(text)) return seq;
  throw new InvalidInput(
    'invalid_last_event_id',
    `Last-Event-ID is ${JSON.stringify(text)}: must be the seq of an event`,
  );
}
