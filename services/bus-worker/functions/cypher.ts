import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { CypherRequest, CypherResult } from '#kit/contracts/bus/functions.ts';
import { CypherReply } from '#kit/contracts/context/cypher.ts';
import { asking } from './asking.ts';
import type { Services } from './services.ts';
import { workerFunction } from './worker-function.ts';

export function cypher({ context }: Services): BusFunction {
  return workerFunction({
    id: functionIds.cypher,
    description: 'Runs a Cypher query that only reads; one that writes is refused',
    request: CypherRequest,
    response: CypherResult,
    work: async (request, call) => ({
      ok: true as const,
      ...(await context.now().post('/v1/graphdb/cypher', request, CypherReply, asking(call))),
    }),
  });
}
