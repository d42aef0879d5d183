import type { BusFunction } from '#kit/bus/bus.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import {
  AgentMapResult,
  CypherRequest,
  CypherResult,
  EmptyRequest,
  LookupRequest,
  LookupResultValue,
  SearchRequest,
  SearchResultValue,
} from '#kit/contracts/bus/functions.ts';
import { PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { LookupReply } from '#kit/contracts/context/memory.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import type { ReresolvingClient } from '#kit/http/reresolving-client.ts';
import { Planning } from '../planning/planning.ts';
import { health } from './health.ts';
import { asking, type Services, workerFunction } from './worker-function.ts';

/** The platform's functions, in the order in which spec.md names them. */
export function platformFunctions(services: Services, planning: Planning): readonly BusFunction[] {
  const { context, bridge } = services;
  return [
    health(services),
    workerFunction({
      id: functionIds.search,
      description: 'Searches what is known of repositories, issues and runs, by text and by graph',
      request: SearchRequest,
      response: SearchResultValue,
      work: async (request, call) => ({
        ok: true as const,
        ...(await context.now().post('/v1/graphrag/search', request, SearchReply, asking(call))),
      }),
    }),
    workerFunction({
      id: functionIds.lookup,
      description: 'Looks up memories: semantic, episodic and procedural',
      request: LookupRequest,
      response: LookupResultValue,
      work: async (request, call) => ({
        ok: true as const,
        ...(await context.now().post('/v1/memory/lookup', request, LookupReply, asking(call))),
      }),
    }),
    workerFunction({
      id: functionIds.cypher,
      description: 'Runs a Cypher query that only reads; one that writes is refused',
      request: CypherRequest,
      response: CypherResult,
      work: async (request, call) => ({
        ok: true as const,
        ...(await context.now().post('/v1/graphdb/cypher', request, CypherReply, asking(call))),
      }),
    }),
    workerFunction({
      id: functionIds.agentMap,
      description: 'Tells which role of the platform works for which role key of a dashboard',
      request: EmptyRequest,
      response: AgentMapResult,
      work: async (_request, call) => ({
        ok: true as const,
        ...(await bridge.now().get('/v1/agents/map', AgentMap, asking(call))),
      }),
    }),
    workerFunction({
      id: functionIds.planIssue,
      description:
        'Plans an issue into a durable run and waits until the planning has ended. Writes nothing to any repository. The same event again names the same run',
      request: PlanIssueRequest,
      response: PlanIssueResult,
      work: (request, call) => planning.plan(request, call),
    }),
  ];
}

/** Id, description and schemas of the platform's functions. */
export function describedFunctions(): readonly Omit<BusFunction, 'handle'>[] {
  const nobody: ReresolvingClient = {
    now: () => {
      throw new TypeError('a described function was called');
    },
    close: async () => {},
  };
  const services = { agentd: nobody, context: nobody, bridge: nobody, answerMs: 1 };
  return platformFunctions(services, new Planning({ agentd: nobody, withinMs: 0 }));
}
