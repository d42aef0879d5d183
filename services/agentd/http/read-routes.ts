import * as t from 'io-ts';
import { ActionList } from '#kit/contracts/action.ts';
import { RecordState, RunDetail, RunList } from '#kit/contracts/run.ts';
import { UndoPlan } from '#kit/contracts/stored-texts.ts';
import { type Route, route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import type { RunPage } from '../runs/run-store.ts';
import { listParameters, parseListQuery } from './list-query.ts';
import { actionsView, runView, summaryView } from './run-view.ts';

const Tools = t.strict({
  tools: t.array(t.strict({ name: t.string, description: t.string, parameters: t.UnknownRecord })),
});

export interface ReadRouteOptions {
  readonly agent: Agent;
  readonly version: string;
  /** Names of the working copies that an execution can deliver to. */
  readonly checkouts: readonly string[];
}

/** Everything that only looks. */
export function readRoutes({ agent, version, checkouts }: ReadRouteOptions): Route[] {
  const pageText = createPageText();
  return [
    route(
      {
        method: 'GET',
        path: '/v1/runs',
        summary: 'Runs, newest first',
        scope: 'read',
        query: listParameters,
        answers: { 200: { description: 'One page', content: RunList } },
      },
      async ({ query }) => {
        const bytes = pageText(await agent.runs(parseListQuery(query)));
        return { content: { type: 'application/json; charset=utf-8', bytes } };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}',
        summary: 'One run with its plan and its actions as they stand',
        scope: 'read',
        answers: { 200: { description: 'The run', content: RunDetail } },
      },
      async ({ params }) => ({ json: runView(await agent.run(params.run_id!)) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/actions',
        summary: 'Proposed actions of a run',
        scope: 'read',
        answers: { 200: { description: 'In the order of execution', content: ActionList } },
      },
      async ({ params }) => ({ json: actionsView(await agent.run(params.run_id!)) }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/diff',
        summary:
          'The patch of a run, byte for byte as it will be applied; empty when only a comment is proposed',
        scope: 'read',
        answers: { 200: { description: 'A git patch', content: 'text/x-diff' } },
      },
      async ({ params }) => {
        const { run_id } = await agent.run(params.run_id!);
        return { content: { type: 'text/x-diff', bytes: await agent.diff(run_id) } };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/branch-recovery',
        summary: 'Recovery manifest of a run',
        scope: 'read',
        answers: { 200: { description: 'branch-recovery.json', content: t.UnknownRecord } },
      },
      async ({ params }) => {
        const { run_id } = await agent.run(params.run_id!);
        return { json: await agent.recovery(run_id) };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/undo',
        summary: 'What an undo would take back, in order',
        scope: 'read',
        answers: { 200: { description: 'The steps', content: UndoPlan } },
      },
      async ({ params }) => {
        const { run_id } = await agent.run(params.run_id!);
        return { json: { run_id, steps: await agent.undoPlan(run_id) } };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/recover',
        summary: 'What is there of the record of a run, beside what was acknowledged of it',
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
        path: '/v1/capabilities',
        summary: 'What this installation can do, and what of it works now',
        scope: 'read',
        answers: { 200: { description: 'Capabilities', content: t.UnknownRecord } },
      },
      async () => ({ json: { version, checkouts, ...(await agent.capabilities()) } }),
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
  ];
}

/** The store gives the same page again while nothing has changed; its text is made once. */
function createPageText(): (page: RunPage) => string {
  const texts = new WeakMap<RunPage, string>();
  return (page) => {
    const known = texts.get(page);
    if (known !== undefined) return known;
    const list: RunList = {
      runs: page.runs.map(summaryView),
      next_cursor: page.next_cursor,
      problems: [...page.problems],
    };
    const text = JSON.stringify(list);
    texts.set(page, text);
    return text;
  };
}
