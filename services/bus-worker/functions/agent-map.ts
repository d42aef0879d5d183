import type { BusFunction } from '#kit/bus/bus.ts';
import { AgentMap } from '#kit/contracts/bridge/events.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { AgentMapResult, EmptyRequest } from '#kit/contracts/bus/functions.ts';
import { asking } from './asking.ts';
import type { Services } from './services.ts';
import { workerFunction } from './worker-function.ts';

export function agentMap({ bridge }: Services): BusFunction {
  return workerFunction({
    id: functionIds.agentMap,
    description: 'Tells which role of the platform works for which role key of a dashboard',
    request: EmptyRequest,
    response: AgentMapResult,
    work: async (_request, call) => ({
      ok: true as const,
      ...(await bridge.now().get('/v1/agents/map', AgentMap, asking(call))),
    }),
  });
}
