import type * as t from 'io-ts';
import type { BusCall, BusFunction } from '#kit/bus/bus.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { type FunctionFailure, functionIds } from '#kit/contracts/bus/function.ts';
import {
  AgentMapResult,
  CypherRequest,
  CypherResult,
  EmptyRequest,
  HealthResult,
  LookupRequest,
  LookupResultValue,
  SearchRequest,
  SearchResultValue,
} from '#kit/contracts/bus/functions.ts';
import { PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { LookupReply } from '#kit/contracts/context/memory.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import { Health, type HealthCheck } from '#kit/contracts/health.ts';
import { decode } from '#kit/decode.ts';
import { CoreError, codeOf, Interrupted, messageOf } from '#kit/errors.ts';
import { Probe, type Question, takesToken } from '#kit/health/probe.ts';
import { type CallOptions, createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { jsonSchema } from '#kit/json-schema.ts';
import { Planning } from './planning.ts';

/** The platform's functions, in the order in which spec.md names them. */
export function platformFunctions(services: Services, planning: Planning): readonly BusFunction[] {
  const { context, bridge } = services;

  function fromContext<Q, A extends object, R>(
    path: string,
    reply: t.Type<A, unknown, unknown>,
    described: Omit<WorkerFunction<Q, R | ({ readonly ok: true } & A)>, 'work'>,
  ): BusFunction {
    return workerFunction({
      ...described,
      work: async (request, call) => succeeded(await context.post(path, request, reply, asking(call))),
    });
  }

  return [
    health(services),
    fromContext('/v1/graphrag/search', SearchReply, {
      id: functionIds.search,
      description: 'Searches what is known of repositories, issues and runs, by text and by graph',
      request: SearchRequest,
      response: SearchResultValue,
    }),
    fromContext('/v1/memory/lookup', LookupReply, {
      id: functionIds.lookup,
      description: 'Looks up memories: semantic, episodic and procedural',
      request: LookupRequest,
      response: LookupResultValue,
    }),
    fromContext('/v1/graphdb/cypher', CypherReply, {
      id: functionIds.cypher,
      description: 'Runs a Cypher query that only reads; one that writes is refused',
      request: CypherRequest,
      response: CypherResult,
    }),
    workerFunction({
      id: functionIds.agentMap,
      description: 'The role of the platform for each role key of a dashboard',
      request: EmptyRequest,
      response: AgentMapResult,
      work: async (_request, call) => succeeded(await bridge.get('/v1/agents/map', AgentMap, asking(call))),
    }),
    workerFunction({
      id: functionIds.planIssue,
      description:
        'Plans an issue, or a task in words, into a durable run and waits until the planning has ended. Writes nothing to any repository. The same event again names the same run',
      request: PlanIssueRequest,
      response: PlanIssueResult,
      work: (request, call) => planning.plan(request, call),
    }),
  ];
}

function succeeded<A extends object>(result: A): { readonly ok: true } & A {
  return { ok: true, ...result };
}

/** Id, description and schemas of the platform's functions. */
export function describedFunctions(): readonly Omit<BusFunction, 'handle'>[] {
  const nobody = createHttpClient({
    baseUrl() {
      throw new TypeError('a described function was called');
    },
  });
  const services = { agentd: nobody, context: nobody, bridge: nobody, answerMs: 1 };
  return platformFunctions(services, new Planning({ agentd: nobody, withinMs: () => 0 }));
}

/** Nobody is asked behind the bridge: its own health asks for this. */
function health({ agentd, context, bridge, answerMs }: Services): BusFunction {
  const probe = (ask: Question) => new Probe(ask, { timeoutMs: answerMs });
  const probes = {
    agentd: probe((signal) => takesToken(agentd, ['read', 'plan'], signal)),
    context: probe((signal) => contextReached(context, signal)),
    bridge: probe((signal) => takesToken(bridge, ['read'], signal)),
  };

  async function reaches(): Promise<Record<string, HealthCheck>> {
    const found = Object.entries(probes).map(async ([name, probe]) => [name, await probe.check()] as const);
    return Object.fromEntries(await Promise.all(found));
  }

  return workerFunction({
    id: functionIds.health,
    description:
      'Checks the health of the agent daemon, and whether the worker reaches the services that it asks',
    request: EmptyRequest,
    response: HealthResult,
    async work(_request, call) {
      const [agent, reached] = await Promise.all([agentd.get('/healthz', Health, asking(call)), reaches()]);
      return { ok: true as const, ...agent, reaches: reached };
    },
  });
}

/** An installation may do without it. */
async function contextReached(context: Services['context'], signal: AbortSignal): Promise<string> {
  try {
    return await takesToken(context, ['read'], signal);
  } catch (error) {
    if (codeOf(error) === 'context_not_configured') return messageOf(error);
    throw error;
  }
}

export interface Services {
  readonly agentd: HttpClient;
  readonly context: HttpClient;
  readonly bridge: HttpClient;
  /** Milliseconds for a service to answer a health check. */
  readonly answerMs: number;
}

interface WorkerFunction<Q, R> {
  readonly id: string;
  readonly description: string;
  readonly request: t.Type<Q, unknown, unknown>;
  readonly response: t.Type<R, unknown, unknown>;
  /** What it throws on purpose becomes a failure; unknown members of the request are dropped before. */
  work(request: Q, call: BusCall): Promise<R>;
}

/** A function of the bus whose errors are values: over the bus an exception would lose its code. */
function workerFunction<Q, R>({
  id,
  description,
  request,
  response,
  work,
}: WorkerFunction<Q, R>): BusFunction {
  return {
    id,
    description,
    request: jsonSchema(request as t.Mixed),
    response: jsonSchema(response as t.Mixed),
    async handle(data, call) {
      try {
        return await work(decode(request, data ?? {}, `the request of ${id}`, 'invalid_request'), call);
      } catch (error) {
        if (!(error instanceof CoreError) || error instanceof Interrupted) throw error;
        return failureOf(error);
      }
    },
  };
}

function failureOf({ code, message, status, retryable, errors, hint }: CoreError): FunctionFailure {
  const shownErrors = errors.length === 0 ? undefined : [...errors];
  return {
    ok: false,
    error: { code, message, status, retryable, errors: shownErrors, hint },
    run_id: undefined,
  };
}

/** Options of a request on behalf of a call: it ends with the call, and continues its trace. */
function asking({ signal, traceparent }: BusCall): CallOptions {
  return { signal, ...(traceparent === null ? {} : { headers: { traceparent } }) };
}
