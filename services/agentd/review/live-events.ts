import { setTimeout } from 'node:timers/promises';
import { sha256 } from '#kit/digest.ts';
import { type EventSink, queryInteger, type Route } from '#kit/http/route.ts';
import type { ProgressUpdate } from '../agent.ts';
import { Changes } from '../runs/changes.ts';
import type { RunQuery } from '../runs/run-store.ts';
import { pageRoute } from './page.ts';
import type { ReviewParts } from './review-parts.ts';

/** Streams that tell a page that it shows something old, and what a running command says. The page asks for the new state itself. */

/** Milliseconds between two looks at the list, however often it changes. */
const minListMs = 1_000;
const maxUpdates = 500;

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
  const changes = new Changes(sink.signal);
  const updates: ProgressUpdate[] = [];
  const unwatch = parts.work.watch(runId, (update) => {
    if (update !== null) updates.push(update);
    if (updates.length > maxUpdates) updates.shift();
    changes.mark();
  });
  const unwatchRecord = parts.agent.watch(runId, changes.mark);
  let seen = `${after}`;
  try {
    while (!sink.signal.aborted) {
      const { head, status } = await parts.agent.run(runId);
      // An executor that died changes the status without an event.
      const now = seen.includes(' ') ? `${head.seq} ${status}` : `${head.seq}`;
      if (now !== seen) await sink.send({ event: 'changed', data: { seq: head.seq } });
      seen = `${head.seq} ${status}`;
      for (const { message, action_id, state } of updates.splice(0)) {
        await sink.send({
          event: 'progress',
          data: parts.redactor.redactDeep({ message, state, action_id: action_id ?? null }),
        });
      }
      await changes.next();
    }
  } finally {
    unwatchRecord();
    unwatch();
  }
}

const listed: RunQuery = { limit: 100 };

async function streamList(parts: ReviewParts, sink: EventSink): Promise<void> {
  const changes = new Changes(sink.signal);
  const unwatch = parts.agent.watch(null, changes.mark);
  let seen: string | null = null;
  try {
    while (!sink.signal.aborted) {
      const { runs } = await parts.agent.runs(listed);
      const now = sha256(JSON.stringify(runs));
      if (seen !== null && now !== seen) await sink.send({ event: 'changed', data: {} });
      seen = now;
      await setTimeout(minListMs, undefined, { signal: sink.signal }).catch(() => {});
      await changes.next();
    }
  } finally {
    unwatch();
  }
}
