import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { LookupRequest, LookupResultValue } from '#kit/contracts/bus/functions.ts';
import { LookupReply } from '#kit/contracts/context/memory.ts';
import { asking } from './asking.ts';
import type { Services } from './services.ts';
import { workerFunction } from './worker-function.ts';

export function memoryLookup({ context }: Services): BusFunction {
  return workerFunction({
    id: functionIds.lookup,
    description: 'Looks up memories: semantic, episodic and procedural',
    request: LookupRequest,
    response: LookupResultValue,
    work: async (request, call) => ({
      ok: true as const,
      ...(await context.now().post('/v1/memory/lookup', request, LookupReply, asking(call))),
    }),
  });
}
