import * as t from 'io-ts';
import { Health } from '../contracts/health.ts';
import { Unauthorized } from '../errors.ts';
import { ShownToken } from '../tokens/token.ts';
import type { HttpMetrics } from './metrics.ts';
import { openApiDocument } from './openapi.ts';
import { type Route, route } from './route.ts';

/** For so long, in milliseconds, the answer of a health check is good. */
const healthFor = 1_000;

/** What every service answers beside its own routes. */
export function standardRoutes(options: {
  readonly service: string;
  readonly version: string;
  readonly routes: readonly Route[];
  readonly health: () => Promise<Health>;
  readonly metrics: HttpMetrics;
}): readonly Route[] {
  const { service, version, metrics } = options;
  let document: object | null = null;
  let checked: { readonly at: number; readonly health: Promise<Health> } | null = null;

  async function health(): Promise<{ readonly status: number; readonly json: Health }> {
    const now = performance.now();
    if (checked === null || now - checked.at > healthFor) checked = { at: now, health: options.health() };
    const json = await checked.health;
    return { status: json.status === 'failing' || json.status === 'standby' ? 503 : 200, json };
  }

  const routes: Route[] = [
    route(
      {
        method: 'GET',
        path: '/healthz',
        summary: 'Whether the service can do its work',
        scope: null,
        anyQuery: true,
        // Asked again and again; the answer says it all.
        debugBelow: 600,
        answers: {
          200: { description: 'It can, perhaps not all of it', content: Health },
          503: { description: 'It cannot, or is a standby', content: Health },
        },
      },
      health,
    ),
    route(
      {
        method: 'GET',
        path: '/v1/token',
        summary: 'Whose token this is, and what it may do. Needs one always',
        scope: 'read',
        answers: { 200: { description: 'Its name and scopes', content: ShownToken } },
      },
      async ({ identity }) => {
        if (identity === null)
          throw new Unauthorized('token_required', 'the request shows no token', {
            hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
          });
        return { json: { name: identity.name, scopes: [...identity.scopes] } };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/metrics',
        summary: 'Measurements for Prometheus',
        scope: 'read',
        answers: { 200: { description: 'Text exposition format', content: 'text/plain' } },
      },
      async () => ({ content: await metrics.read() }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/openapi.json',
        summary: 'This description',
        scope: 'read',
        answers: { 200: { description: 'An OpenAPI 3.1 document', content: t.UnknownRecord } },
      },
      async () => {
        document ??= openApiDocument({ title: service, version }, [...options.routes, ...routes]);
        return { json: document };
      },
    ),
  ];
  return routes;
}
