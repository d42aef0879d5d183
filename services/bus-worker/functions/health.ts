import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { EmptyRequest, HealthResult } from '#kit/contracts/bus/functions.ts';
import { Health } from '#kit/contracts/health.ts';
import { asking } from './asking.ts';
import type { Services } from './services.ts';
import { workerFunction } from './worker-function.ts';

export function health({ agentd }: Services): BusFunction {
  return workerFunction({
    id: functionIds.health,
    description: 'Checks the health of the agent daemon',
    request: EmptyRequest,
    response: HealthResult,
    work: async (_request, call) => ({
      ok: true as const,
      ...(await agentd.now().get('/healthz', Health, asking(call))),
    }),
  });
}
