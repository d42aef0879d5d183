import { CypherReply, cypherRequest } from '#kit/contracts/context/cypher.ts';
import { SearchReply, SearchRequest } from '#kit/contracts/context/search.ts';
import { defaultLimit } from '#kit/contracts/context/vocabulary.ts';
import { type Route, routeWithBody } from '#kit/http/route.ts';
import type { Graph } from '../graph/open-graph.ts';
import type { RecordReader } from '../record/calls.ts';
import type { searchQueries } from '../search/search.ts';

export function searchRoutes(readers: RecordReader<typeof searchQueries>): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/graphrag/search',
        summary: 'Files, symbols, documents, issues and runs that matter for a text, best first',
        scope: 'read',
        body: SearchRequest,
        answers: { 200: { description: 'At most as many as the limit', content: SearchReply } },
      },
      async ({ body }) => {
        const started = performance.now();
        const results = await readers.ask('search', { ...body, limit: body.limit ?? defaultLimit });
        const took_ms = Math.round((performance.now() - started) * 100) / 100;
        return { json: { results, source: 'record', took_ms } };
      },
    ),
  ];
}

/** @param maxRows the highest `limit` of a query */
export function cypherRoutes(graph: Graph, maxRows: number): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/graphdb/cypher',
        summary: 'Ask the graph in Cypher. Reading alone',
        scope: 'read',
        body: cypherRequest(maxRows),
        answers: { 200: { description: 'At most as many rows as the limit', content: CypherReply } },
      },
      async ({ body, identity }) => ({ json: await graph.query(body, { caller: identity?.name }) }),
    ),
  ];
}
