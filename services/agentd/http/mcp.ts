import { setTimeout } from 'node:timers/promises';
import * as t from 'io-ts';
import { optional } from '#kit/decode.ts';
import { type Route, routeWithBytes } from '#kit/http/route.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Person } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { CoreToolParts } from '../mcp/core-tools.ts';
import type { ToolCall } from '../mcp/tool.ts';
import type { BackgroundWork } from './background-work.ts';
import { requireToken } from './query.ts';
import { planInBackground } from './run-changes.ts';
import { runView } from './run-view.ts';
import { person, requireUsableKey } from './write-routes.ts';

interface McpOptions {
  readonly agent: CoreAgent;
  readonly work: BackgroundWork;
  readonly redactor: Redactor;
  readonly version: string;
}

/** Of JSON-RPC; a notification has no id. */
const Message = t.strict({
  jsonrpc: t.literal('2.0'),
  id: optional(t.union([t.string, t.number])),
  method: t.string,
  params: optional(t.UnknownRecord),
});

/** The Model Context Protocol's streamable HTTP; loaded with the first request. */
export function mcpRoutes(options: McpOptions): Route[] {
  return [
    routeWithBytes(
      {
        method: 'POST',
        path: '/v1/mcp',
        summary:
          'The Model Context Protocol (streamable HTTP, without sessions). Needs a token always; tools that plan or remember need its scope plan',
        scope: 'read',
        body: Message,
        bodyLimit: 1024 * 1024,
        debugBelow: 400,
        answers: {
          200: {
            description:
              'The answer as server-sent events of JSON-RPC, or as JSON where `accept` names only application/json',
            content: 'text/event-stream',
          },
          202: { description: 'A notification was taken' },
        },
      },
      async ({ body, header, identity, log }) => {
        requireToken(identity);
        const [{ coreServer }, { answerMcp }] = await Promise.all([
          import('../mcp/core-server.ts'),
          import('../mcp/over-http.ts'),
        ]);
        const { version } = options;
        const onError = (error: unknown) => log.error('a tool failed', { error });
        const server = coreServer(mcpParts(options, person(identity), null), { version, onError });
        const headers = {
          accept: header('accept'),
          'mcp-protocol-version': header('mcp-protocol-version'),
        };
        return {
          write: (response, writeHead) => answerMcp(server, { headers, body }, response, writeHead),
        };
      },
    ),
  ];
}

/** @param folder where a person stands, for names of runs; null over HTTP */
export function mcpParts(
  { agent, work, redactor }: Omit<McpOptions, 'version'>,
  by: Person,
  folder: string | null,
): CoreToolParts {
  const runNamed = async (name: string) =>
    agent.run(folder === null ? name : await agent.runId(name, folder));
  return {
    by,
    context: () => agent.context(),
    async list(query) {
      const { runs, next_cursor, problems } = await agent.runs(query);
      return { runs: [...runs], next_cursor, problems: [...problems] };
    },
    show: async (name) => runView(await runNamed(name)),
    async diff(name) {
      const { run_id } = await runNamed(name);
      return { run_id, patch: await agent.diff(run_id) };
    },
    async plan({ idempotency_key: key, ...request }, waitMs, call) {
      if (key !== undefined) requireUsableKey(key);
      const keyed = key === undefined ? {} : { idempotency_key: key };
      // What another agent writes may come from anywhere, whoever's token it uses.
      const scopes = by.scopes.filter((scope) => scope !== 'approve');
      const { run } = await planInBackground(
        { ...request, ...keyed, by: { ...by, scopes } },
        { agent, work },
      );
      await ended(run.run_id, waitMs, call);
      return runView(await agent.run(run.run_id));
    },
  };

  /** Resolves when no work on the run goes on here, after a while, and when the client leaves. */
  async function ended(runId: string, waitMs: number, { signal, progress }: ToolCall): Promise<void> {
    const done = new AbortController();
    const unwatch = work.watch(runId, (update) => {
      if (update !== null) progress(redactor.redact(update.message));
      else if (!work.isAtWork(runId)) done.abort();
    });
    try {
      const either = AbortSignal.any([done.signal, signal]);
      if (work.isAtWork(runId)) await setTimeout(waitMs, undefined, { signal: either }).catch(() => {});
    } finally {
      unwatch();
    }
  }
}
