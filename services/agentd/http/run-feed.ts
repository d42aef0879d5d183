import { setTimeout } from 'node:timers/promises';
import { type EventSink, type Route, route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import type { RunSummary } from '../runs/run.ts';
import type { RunPage } from '../runs/run-store.ts';
import { summaryView } from './run-view.ts';

/** Other processes write runs too, and tell nobody: so often, in milliseconds, the list is looked at. */
const lookEveryMs = 400;
const pageSize = 100;
/** A run that changed so shortly before the stream was opened, in milliseconds, is told of all the same. */
const overlapMs = 60_000;

export function runFeedRoutes(agent: Agent): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/events',
        summary:
          'Changes of the list of runs, live: `listening` first, then a `run` with its row of GET /v1/runs whenever that is another. Of the newest hundred at once, of older ones page by page',
        scope: 'read',
        answers: { 200: { description: 'Events until the client goes', content: 'text/event-stream' } },
      },
      async () => ({ stream: (sink) => feed(agent, sink) }),
    ),
  ];
}

async function feed(agent: Agent, sink: EventSink): Promise<void> {
  const since = new Date(Date.now() - overlapMs).toISOString();
  const known = new Map<string, string>();
  let newest: RunPage | null = null;
  let older: string | null = null;

  async function tell(page: RunPage, isNews: (run: RunSummary) => boolean): Promise<void> {
    for (const run of page.runs) {
      const row = JSON.stringify(run);
      const before = known.get(run.run_id);
      if (before === row) continue;
      known.set(run.run_id, row);
      if (before === undefined && !isNews(run)) continue;
      await sink.send({ event: 'run', data: summaryView(run) });
    }
  }

  await sink.send({ event: 'listening', data: {} });
  while (!sink.signal.aborted) {
    const page = await agent.runs({ limit: pageSize });
    if (page !== newest) {
      const isFirst: boolean = newest === null;
      await tell(page, ({ updated_at }) => !isFirst || updated_at > since);
      newest = page;
    }
    older ??= page.next_cursor;
    if (older !== null) {
      const next: RunPage = await agent.runs({ limit: pageSize, cursor: older });
      await tell(next, ({ updated_at }) => updated_at > since);
      older = next.next_cursor;
    }
    await setTimeout(lookEveryMs, undefined, { signal: sink.signal }).catch(() => {});
  }
}
