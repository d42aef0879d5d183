import * as t from 'io-ts';
import { Health } from '../contracts/health.ts';
import { ShownToken } from '../contracts/token.ts';
import { Unauthorized } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Redactor } from '../redaction.ts';
import { answerProblem } from './answer-problem.ts';
import type { HttpMetrics } from './metrics.ts';
import type { RawRoute } from './raw-route.ts';
import { type Route, type RouteFacts, route } from './route.ts';

/** For so long, in milliseconds, the answer of a health check is good. */
const healthFor = 1_000;

export interface StandardRoutes {
  readonly routes: readonly Route[];
  /** One of them once more, without what takes long to load. */
  readonly health: RawRoute;
}

/** What every service answers beside its own routes. */
export function standardRoutes(options: {
  readonly service: string;
  readonly version: string;
  readonly routes: readonly Route[];
  readonly health: () => Promise<Health>;
  readonly metrics: Pick<HttpMetrics, 'registry'>;
  readonly logger: Logger;
  readonly redactor: Redactor;
}): StandardRoutes {
  const { service, version, metrics } = options;
  let checked: { readonly at: number; readonly health: Promise<Health> } | null = null;

  async function health(): Promise<{ readonly status: number; readonly json: Health }> {
    const now = performance.now();
    if (checked === null || now - checked.at > healthFor) checked = { at: now, health: options.health() };
    const json = await checked.health;
    return { status: json.status === 'failing' ? 503 : 200, json };
  }

  const routes: Route[] = [
    route(healthFacts, health),
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
      async () => {
        const registry = await metrics.registry();
        return { content: { type: registry.contentType, bytes: await registry.metrics() } };
      },
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
        document ??= import('./openapi.ts').then(({ openApiDocument }) =>
          openApiDocument({ title: service, version }, [...options.routes, ...routes]),
        );
        return { json: await document };
      },
    ),
  ];
  let document: Promise<object> | null = null;

  return {
    routes,
    health: {
      ...healthFacts,
      body: null,
      async handle(_, response, { writeHead }) {
        const { status, json } = await health();
        const body = Buffer.from(JSON.stringify(json));
        writeHead(status, {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': String(body.length),
        });
        response.end(body);
      },
      refuse(response, error, { id, writeHead }) {
        answerProblem(response, error, { path: healthFacts.path, id }, { ...options, writeHead });
      },
    },
  };
}

const healthFacts: RouteFacts = {
  method: 'GET',
  path: '/healthz',
  summary: 'Whether the service can do its work',
  scope: null,
  answers: {
    200: { description: 'It can, perhaps not all of it', content: Health },
    503: { description: 'It cannot', content: Health },
  },
};
