import { InvalidInput } from '#kit/errors.ts';
import { type EventSink, type Route, route } from '#kit/http/route.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { CoreAgent } from '../core-agent.ts';
import { followRun, turnsToLook } from '../runs/follow.ts';
import type { RunSummary } from '../runs/run.ts';
import type { RunPage } from '../runs/run-store.ts';
import type { BackgroundWork } from './background-work.ts';

/** Milliseconds between two looks at the list, however often it changes. */
const minListMs = 400;
const pageSize = 100;
/** Milliseconds: a run that changed so shortly before the stream was opened is sent all the same. */
const overlapMs = 60_000;

const answers = { 200: { description: 'Events until the client goes', content: 'text/event-stream' } };

export interface EventRouteOptions {
  readonly agent: CoreAgent;
  readonly work: BackgroundWork;
  readonly redactor: Redactor;
}

export function eventRoutes(options: EventRouteOptions): Route[] {
  const { agent } = options;
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
        answers,
      },
      async ({ params, header }) => {
        const after = parseLastEventId(header('last-event-id'));
        const { run_id } = await agent.run(params.run_id!);
        return { stream: (sink) => streamRun(options, run_id, after, sink) };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/events',
        summary:
          'Changes of the list of runs, live: `listening` first, then a `run` with its row of GET /v1/runs whenever that is another. Of the newest hundred at once, of older ones page by page',
        scope: 'read',
        answers,
      },
      async () => ({ stream: (sink) => streamList(agent, sink) }),
    ),
  ];
}

async function streamRun(
  options: EventRouteOptions,
  runId: string,
  after: number,
  sink: EventSink,
): Promise<void> {
  let seen = after;
  for await (const updates of followRun(options, runId, sink.signal)) {
    for (const event of await options.agent.events(runId, seen)) {
      await sink.send({ id: String(event.seq), event: event.type, data: event });
      seen = event.seq;
    }
    for (const update of updates) await sink.send({ event: 'progress', data: update });
  }
}

function parseLastEventId(text = '0'): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidInput(
    'invalid_last_event_id',
    `Last-Event-ID is ${JSON.stringify(text)}: must be the seq of an event`,
  );
}

async function streamList(agent: CoreAgent, sink: EventSink): Promise<void> {
  const since = new Date(Date.now() - overlapMs).toISOString();
  const known = new Map<string, string>();
  let first = true;
  let older: string | null = null;

  /** @param isNew decides about a run that no page had before */
  async function sendChanges(page: RunPage, isNew: (run: RunSummary) => boolean): Promise<void> {
    for (const run of page.runs) {
      const row = JSON.stringify(run);
      const before = known.get(run.run_id);
      if (before === row) continue;
      known.set(run.run_id, row);
      if (before !== undefined || isNew(run)) await sink.send({ event: 'run', data: run });
    }
  }

  const watch = (mark: () => void) => agent.watch(null, mark);
  await sink.send({ event: 'listening', data: {} });
  for await (const lookAgain of turnsToLook(sink.signal, watch, minListMs)) {
    const page = await agent.runs({ limit: pageSize });
    const opening = first;
    await sendChanges(page, ({ updated_at }) => !opening || updated_at > since);
    first = false;
    older ??= page.next_cursor;
    if (older === null) continue;
    const next: RunPage = await agent.runs({ limit: pageSize, cursor: older });
    await sendChanges(next, ({ updated_at }) => updated_at > since);
    older = next.next_cursor;
    // Pages of older runs follow one another.
    if (older !== null) lookAgain();
  }
}
