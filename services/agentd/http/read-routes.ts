import * as t from 'io-ts';
import { ActionList } from '#kit/contracts/action.ts';
import { Inbox } from '#kit/contracts/inbox.ts';
import { RecordState, RunDetail, RunList } from '#kit/contracts/run.ts';
import { StatusReport } from '#kit/contracts/status.ts';
import { UndoPlan } from '#kit/contracts/stored-texts.ts';
import { NotFound } from '#kit/errors.ts';
import { type Reply, type Route, route } from '#kit/http/route.ts';
import type { CoreAgent } from '../core-agent.ts';
import { artifactReferences } from '../runs/log/artifacts.ts';
import type { JudgedRun } from '../runs/run.ts';
import { decodeRunQuery, runParameters } from '../runs/run-query.ts';
import { inboxParameters, inboxQuery, requireToken } from './query.ts';
import { actionsView, runView } from './run-view.ts';
import type { StatusCommand } from './status-command.ts';

const Tools = t.strict({
  tools: t.array(t.strict({ name: t.string, description: t.string, parameters: t.UnknownRecord })),
});
const Storage = t.strict({ runs_count: t.number });

export interface ReadRouteOptions {
  readonly agent: CoreAgent;
  readonly version: string;
  /** Name to path of the working copies that an execution can deliver to, as configured now. */
  readonly checkouts: () => Readonly<Record<string, string>>;
  readonly status: StatusCommand;
}

/** Routes that read runs, and the state of this installation. */
export function readRoutes(options: ReadRouteOptions): Route[] {
  return [...runRoutes(options), ...installationRoutes(options)];
}

function runRoutes({ agent }: ReadRouteOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/runs',
        summary: 'Runs, newest first',
        scope: 'read',
        query: runParameters,
        answers: { 200: { description: 'One page', content: RunList } },
      },
      async ({ query }) => {
        const { runs, next_cursor, problems } = await agent.runs(decodeRunQuery(query, new Date()));
        const json: RunList = { runs: [...runs], next_cursor, problems: [...problems] };
        return { json };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/inbox',
        summary: 'What waits for a person, the longest waiting first',
        scope: 'read',
        query: inboxParameters,
        answers: { 200: { description: 'All of it', content: Inbox } },
      },
      async ({ query, identity }) => ({
        json: await agent.inbox({ person: inboxQuery(query, identity), now: new Date() }),
      }),
    ),
    aboutRun('', 'One run with its plan and its actions as they stand', 'The run', RunDetail, (run) => ({
      json: runView(run),
    })),
    aboutRun('/actions', 'Proposed actions of a run', 'In the order of execution', ActionList, (run) => ({
      json: actionsView(run),
    })),
    aboutRun(
      '/diff',
      'The patch of a run, byte for byte as it will be applied; empty when only a comment is proposed',
      'A git patch',
      'text/x-diff',
      async ({ run_id }) => ({ content: { type: 'text/x-diff', bytes: await agent.diff(run_id) } }),
    ),
    aboutRun(
      '/draft',
      'What a coding agent left that was stopped before it was done, and did not propose',
      'A git patch',
      'text/x-diff',
      async ({ run_id }) => ({ content: { type: 'text/x-diff', bytes: await agent.draft(run_id) } }),
    ),
    aboutRun(
      '/branch-recovery',
      'Recovery manifest of a run',
      'branch-recovery.json',
      t.UnknownRecord,
      async ({ run_id }) => ({ json: await agent.recovery(run_id) }),
    ),
    aboutRun(
      '/undo',
      'What an undo would take back, in order',
      'The steps',
      UndoPlan,
      async ({ run_id }) => ({ json: { run_id, steps: await agent.undoPlan(run_id) } }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/recover',
        summary: 'State of the record of a run, compared with its newest acknowledged event',
        scope: 'read',
        answers: {
          200: { description: 'The record; `problem` is null when it is whole', content: RecordState },
        },
      },
      async ({ params }) => ({ json: await agent.record(params.run_id!) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/artifacts/{digest}',
        summary:
          'One artifact that the record of the run names, by its sha256: its bytes as stored. Needs a token always',
        scope: 'read',
        answers: { 200: { description: 'The bytes', content: 'application/octet-stream' } },
      },
      async ({ params, identity }) => {
        // Conversations and logs can hold more than the actions show.
        requireToken(identity);
        const { run_id } = await agent.run(params.run_id!);
        const digest = params.digest!;
        const bytes = await agent.artifact(run_id, digest);
        // A crash can leave an artifact that no event names: it is not part of the run.
        const named = (await agent.events(run_id, 0)).flatMap(artifactReferences);
        if (named.some((reference) => reference.digest === digest))
          return { content: { type: 'application/octet-stream', bytes } };
        throw new NotFound('artifact_not_found', `the record of run ${run_id} names no artifact ${digest}`);
      },
    ),
  ];

  /** GET of something about one run. */
  function aboutRun(
    path: string,
    summary: string,
    description: string,
    content: t.Mixed | string,
    read: (run: JudgedRun) => Reply | Promise<Reply>,
  ): Route {
    return route(
      {
        method: 'GET',
        path: `/v1/runs/{run_id}${path}`,
        summary,
        scope: 'read',
        answers: { 200: { description, content } },
      },
      async ({ params }) => read(await agent.run(params.run_id!)),
    );
  }
}

function installationRoutes({ agent, version, checkouts, status }: ReadRouteOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/capabilities',
        summary: 'What this installation can do, and what of it works now',
        scope: 'read',
        answers: { 200: { description: 'Capabilities', content: t.UnknownRecord } },
      },
      async () => ({
        json: { version, checkouts: Object.keys(checkouts()), ...(await agent.capabilities()) },
      }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/tools',
        summary: 'Tools of the planner, with the JSON schemas of their arguments',
        scope: 'read',
        answers: { 200: { description: 'Tools', content: Tools } },
      },
      async () => ({ json: { tools: await agent.tools() } }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/status',
        summary:
          'The report of core-status. Needs a token always; questions at the same time share one report',
        scope: 'read',
        answers: {
          200: { description: 'The report; `ok` is true when all is well', content: StatusReport },
        },
      },
      async ({ identity }) => {
        requireToken(identity);
        return { json: await status() };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/storage',
        summary: 'How many runs are stored',
        scope: 'read',
        answers: { 200: { description: 'Counts', content: Storage } },
      },
      async () => ({ json: { runs_count: await agent.countRuns() } }),
    ),
  ];
}
