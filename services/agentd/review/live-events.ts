import { sha256 } from '#kit/digest.ts';
import { type EventSink, queryInteger, type Route } from '#kit/http/route.ts';
import { followRun, turnsToLook } from '../runs/follow.ts';
import type { RunQuery } from '../runs/run-store.ts';
import { pageRoute } from './page.ts';
import type { ReviewParts } from './review-parts.ts';

/** Streams that tell a page that it shows something old, and what a running command says. The page asks for the new state itself. */

/** Milliseconds between two looks at the list, however often it changes. */
const minListMs = 1_000;

export function liveRoutes(parts: ReviewParts): Route[] {
  return [
    pageRoute(
      parts,
      {
        path: '/runs/{run_id}/live',
        summary: 'Changes of a run, live',
        query: {
          after: {
            description: 'seq of the event that the page shows',
            schema: { type: 'integer', minimum: 0 },
          },
        },
      },
      async (visit) => {
        const { query, params } = visit.request;
        const after = queryInteger('after', query.after ?? '0', 0, 1_000_000_000);
        const { run_id } = await parts.agent.run(params.run_id!);
        return { stream: (sink) => streamRun(parts, run_id, after, sink) };
      },
    ),
    pageRoute(parts, { path: '/live', summary: 'Changes of the list of runs, live' }, async () => ({
      stream: (sink) => streamList(parts, sink),
    })),
  ];
}

async function streamRun(parts: ReviewParts, runId: string, after: number, sink: EventSink): Promise<void> {
  let seen = `${after}`;
  for await (const updates of followRun(parts, runId, sink.signal)) {
    const { actions, head, status } = await parts.agent.run(runId);
    // A dead executor or a lapsed approval changes the page without an event.
    const lapsed = actions.map(({ approval_problem }) => approval_problem?.code ?? '').join();
    const shown = `${head.seq} ${status} ${lapsed}`;
    const now = seen.includes(' ') ? shown : `${head.seq}`;
    if (now !== seen) await sink.send({ event: 'changed', data: { seq: head.seq } });
    seen = shown;
    for (const { message, action_id, state } of updates)
      await sink.send({ event: 'progress', data: { message, state, action_id: action_id ?? null } });
  }
}

const listed: RunQuery = { limit: 100 };

async function streamList({ agent }: ReviewParts, sink: EventSink): Promise<void> {
  const watch = (mark: () => void) => agent.watch(null, mark);
  let seen: string | null = null;
  for await (const _ of turnsToLook(sink.signal, watch, minListMs)) {
    const { runs } = await agent.runs(listed);
    const now = sha256(JSON.stringify(runs));
    if (seen !== null && now !== seen) await sink.send({ event: 'changed', data: {} });
    seen = now;
  }
}
