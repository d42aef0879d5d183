import { once } from 'node:events';
import { connect } from 'node:net';
import type * as t from 'io-ts';
import { RecordedReply, ScoreReply } from '#kit/contracts/context/execution.ts';
import { LookupReply } from '#kit/contracts/context/memory.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import { RefreshStatus } from '#kit/contracts/context/status.ts';
import { CoreError, codeOf, Interrupted, messageOf, TimedOut, Unavailable } from '#kit/errors.ts';
import type { HttpClient } from '#kit/http/client.ts';
import type { ContextWriter } from '../outbox/context-writer.ts';
import type { Context } from '../planning/context.ts';
import { passageOfMemory, passageOfResult } from './passages.ts';

export interface HttpContextOptions {
  readonly baseUrl: string;
  /** Asked before each request. */
  readonly token: () => string;
  /** Milliseconds for an answer. */
  readonly timeoutMs: number;
  /** Milliseconds for reading a repository; default 10 s. The service goes on by itself afterwards. */
  readonly refreshMs?: number;
}

interface Clients {
  readonly quick: HttpClient;
  readonly patient: HttpClient;
}

/** core-context over HTTP, as spec.md and `GET /v1/openapi.json` name its endpoints. */
export function httpContext(options: HttpContextOptions): Context & ContextWriter {
  const { baseUrl, timeoutMs, refreshMs = Math.max(10_000, options.timeoutMs) } = options;
  const name = `core-context at ${new URL(baseUrl).origin}`;
  let clients: Clients | null = null;

  /** Loading a client takes longer than many a command: first it is seen whether anybody listens. */
  async function opened(signal: AbortSignal): Promise<Clients> {
    if (clients !== null) return clients;
    await reach(new URL(baseUrl), AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    const { createHttpClient } = await import('#kit/http/client.ts');
    const common = { baseUrl, token: options.token };
    clients ??= {
      quick: createHttpClient({ ...common, timeoutMs }),
      patient: createHttpClient({ ...common, timeoutMs: refreshMs }),
    };
    return clients;
  }

  async function read<A>(
    path: string,
    body: unknown,
    codec: t.Type<A, unknown, unknown>,
    signal: AbortSignal,
  ): Promise<A> {
    try {
      return await (await opened(signal)).quick.post(path, body, codec, { signal });
    } catch (error) {
      throw unavailable(name, error, timeoutMs);
    }
  }

  async function write<A>(
    path: string,
    body: unknown,
    codec: t.Type<A, unknown, unknown>,
    signal: AbortSignal,
  ): Promise<A> {
    try {
      return await (await opened(signal)).quick.post(path, body, codec, { signal });
    } catch (error) {
      throw isRefusal(error) ? error : unavailable(name, error, timeoutMs);
    }
  }

  return {
    name,
    async refresh(repository, signal) {
      const body = { repositories: [repository] };
      const { repositories, error } = await opened(signal)
        .then(({ patient }) => patient.post('/v1/admin/refresh', body, RefreshStatus, { signal }))
        .catch((error: unknown) => {
          throw unavailable(name, error, refreshMs);
        });
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
      const body = about.length === 0 ? request : { ...request, about };
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
    recordOutcome: (outcome, signal) => write('/v1/execution/outcome', outcome, RecordedReply, signal),
  };
}

/** What was told is at fault, and telling it again would not help. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof CoreError) || isRubbish(error)) return false;
  return [400, 409, 413, 422].includes(error.status) && !(error instanceof Interrupted);
}

/** An answer that is no JSON, or not of the agreed shape. */
function isRubbish(error: unknown): boolean {
  return ['answer_invalid', 'invalid_json'].includes(codeOf(error));
}

function unavailable(name: string, error: unknown, timeoutMs: number): unknown {
  if (error instanceof Interrupted) return error;
  const why =
    error instanceof TimedOut
      ? `did not answer within ${timeoutMs / 1000} s`
      : codeOf(error) === 'http_unavailable'
        ? 'is not there'
        : isRubbish(error)
          ? 'answered what cannot be understood'
          : `cannot help: ${messageOf(error)}`;
  return new Unavailable('context_unavailable', `${name} ${why}`, { cause: error });
}

/** @throws Unavailable (`http_unavailable`) when nobody listens there, Interrupted, TimedOut */
async function reach({ hostname, port, protocol }: URL, signal: AbortSignal): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
  try {
    await once(socket, 'connect', { signal });
  } catch (cause) {
    if (!signal.aborted) throw new Unavailable('http_unavailable', messageOf(cause), { cause });
    if ((signal.reason as Error).name !== 'TimeoutError') throw signal.reason;
    throw new TimedOut('http_timeout', 'nobody took the connection in time', { cause });
  } finally {
    socket.destroy();
  }
}
