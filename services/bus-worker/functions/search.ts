import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { SearchRequest, SearchResultValue } from '#kit/contracts/bus/functions.ts';
import { SearchReply } from '#kit/contracts/context/search.ts';
import { asking } from './asking.ts';
import type { Services } from './services.ts';
import { workerFunction } from './worker-function.ts';

export function search({ context }: Services): BusFunction {
  return workerFunction({
    id: functionIds.search,
    description: 'Searches what is known of repositories, issues and runs, by text and by graph',
    request: SearchRequest,
    response: SearchResultValue,
    work: async (request, call) => ({
      ok: true as const,
      ...(await context.now().post('/v1/graphrag/search', request, SearchReply, asking(call))),
    }),
  });
}
