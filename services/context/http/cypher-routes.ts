import { CypherReply, cypherRequest } from '#kit/contracts/context/cypher.ts';
import { type Route, routeWithBody } from '#kit/http/route.ts';
import type { Graph } from '../graph/open-graph.ts';

/** @param rows the highest `limit` */
export function cypherRoutes(graph: Graph, rows: number): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/graphdb/cypher',
        summary: 'Ask the graph in Cypher. Reading alone',
        scope: 'read',
        body: cypherRequest(rows),
        answers: { 200: { description: 'At most as many rows as the limit', content: CypherReply } },
      },
      async ({ body, identity }) => ({ json: await graph.query(body, { caller: identity?.name }) }),
    ),
  ];
}
