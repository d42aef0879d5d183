import type * as t from 'io-ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { RecordedReply, ScoreReply } from '#kit/contracts/context/execution.ts';
import { LookupReply, type LookupResult, RecordReply } from '#kit/contracts/context/memory.ts';
import { isVouchedFor } from '#kit/contracts/context/memory-source.ts';
import { SearchReply, type SearchResult } from '#kit/contracts/context/search.ts';
import { RefreshStatus } from '#kit/contracts/context/status.ts';
import { CoreError, codeOf, Interrupted, messageOf, TimedOut, Unavailable } from '#kit/errors.ts';
import { createHttpClient } from '#kit/http/client.ts';
import type { ContextAccess } from '../mcp/core-tools.ts';
import type { ContextWriter } from '../outbox/run-delivery.ts';
import type { Context } from '../planning/context.ts';
import type { ContextPassage } from '../planning/passage.ts';

export interface HttpContextOptions {
  readonly baseUrl: string;
  /** Asked before each request. */
  readonly token: () => string;
  /** Milliseconds for an answer. Reading a repository gets at least 10 s; the service goes on by itself afterwards. */
  readonly timeoutMs: number;
}

/** core-context over HTTP, as spec.md and `GET /v1/openapi.json` name its endpoints. */
export function httpContext({
  baseUrl,
  token,
  timeoutMs,
}: HttpContextOptions): Context & ContextWriter & ContextAccess {
  const refreshMs = Math.max(10_000, timeoutMs);
  const name = `core-context at ${new URL(baseUrl).origin}`;

  /** Whatever fails makes the service unavailable, but for errors that `passes`. */
  function poster(timeoutMs: number, passes: (error: unknown) => boolean = () => false) {
    const client = createHttpClient({ baseUrl, token, timeoutMs });
    return <A>(path: string, body: unknown, codec: t.Type<A, unknown, unknown>, signal: AbortSignal) =>
      client.post(path, body, codec, { signal }).catch((error: unknown) => {
        throw passes(error) ? error : unavailable(name, error, timeoutMs);
      });
  }
  const read = poster(timeoutMs);
  const refresh = poster(refreshMs);
  const write = poster(timeoutMs, isRefusal);

  return {
    name,
    async refresh(repository, signal) {
      const body = { repositories: [repository] };
      const { repositories, error } = await refresh('/v1/admin/refresh', body, RefreshStatus, signal);
      const failed = repositories.flatMap((one) => ('error' in one ? [one.error] : []))[0] ?? error;
      if (failed == null) return;
      const why = `${name} cannot read ${repository.name}: ${failed.detail}`;
      throw new Unavailable('context_unavailable', why, { facts: { code: failed.code } });
    },
    async search(request, signal) {
      const { results } = await read('/v1/graphrag/search', request, SearchReply, signal);
      return results.map(passageOfResult);
    },
    async lookup({ about, ...request }, signal) {
      const body = about?.length === 0 ? request : { ...request, about };
      const { results } = await read('/v1/memory/lookup', body, LookupReply, signal);
      return results.map(passageOfMemory);
    },
    async scorePaths(request, signal) {
      const { actions } = await read('/v1/execution/score', request, ScoreReply, signal);
      if (actions.length !== request.actions.length)
        throw new Unavailable('context_unavailable', `${name} scored ${actions.length} actions, not all`);
      return actions;
    },
    recordPlan: (plan, signal) => write('/v1/execution/plan', plan, RecordedReply, signal),
    cypher: (request, signal) => write('/v1/graphdb/cypher', request, CypherReply, signal),
    remember: (memory, signal) => write('/v1/memory/record', memory, RecordReply, signal),
    recordOutcome: (outcome, signal) => write('/v1/execution/outcome', outcome, RecordedReply, signal),
  };
}

/** The service rejected the content; sending it again would not help. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CoreError) || isMalformed(error)) return false;
  return [400, 409, 413, 422].includes(error.status) && !(error instanceof Interrupted);
}

/** An answer that is no JSON, or not of the agreed shape. */
function isMalformed(error: unknown): boolean {
  return ['answer_invalid', 'invalid_json'].includes(codeOf(error));
}

function unavailable(name: string, error: unknown, timeoutMs: number): unknown {
  if (error instanceof Interrupted) return error;
  const why =
    error instanceof TimedOut
      ? `did not answer within ${timeoutMs / 1000} s`
      : codeOf(error) === 'http_unavailable'
        ? 'did not answer'
        : isMalformed(error)
          ? 'answered what cannot be understood'
          : `cannot help: ${messageOf(error)}`;
  return new Unavailable('context_unavailable', `${name} ${why}`, { cause: error });
}

function passageOfResult(result: SearchResult): ContextPassage {
  const { id, kind, title, path, start_line, end_line, snippet, score, why } = result;
  const lines = start_line === null ? '' : `:${start_line}${end_line === null ? '' : `-${end_line}`}`;
  const edges = why.edges.map((edge) => `${edge.kind} of ${edge.from}`);
  return {
    id,
    kind,
    source: path === null ? id : `${path}${lines}`,
    path,
    title,
    text: snippet,
    layer: 'graph',
    why: [...(why.terms.length === 0 ? [] : [`words ${why.terms.join(', ')}`]), ...edges].join('; '),
    score,
    about: [],
    run_id: kind === 'run' ? id.replace(/^run:/, '') : null,
    unvouched: false,
  };
}

function passageOfMemory(result: LookupResult): ContextPassage {
  const { id, layer, kind, title, text, about, session, subject, score, why, steps } = result;
  const neighbours = why.neighbours.map(({ relation }) => relation);
  return {
    id,
    kind,
    source: id,
    path: null,
    title,
    text:
      steps.length === 0 ? text : [text, ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n'),
    layer,
    why: [
      ...(why.terms.length === 0 ? [] : [`words ${why.terms.join(', ')}`]),
      ...(why.subject === null ? [] : [`subject ${why.subject}`]),
      ...(neighbours.length === 0 ? [] : [`beside ${[...new Set(neighbours)].join(', ')}`]),
    ].join('; '),
    score,
    about,
    run_id: runIn(session) ?? runIn(subject) ?? runIn(about.find((entity) => entity.startsWith('run:'))),
    unvouched: !isVouchedFor(result.source),
  };
}

/** The run that a session or an action's id names. */
function runIn(text: string | null | undefined): string | null {
  return /\brun_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text ?? '')?.[0] ?? null;
}
