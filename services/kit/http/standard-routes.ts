import * as t from 'io-ts';
import type { Registry } from 'prom-client';
import { Health } from '../contracts/health.ts';
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
  readonly registry: Registry;
}): Route[] {
  const { service, version, registry } = options;
  let checked: { readonly at: number; readonly health: Promise<Health> } | null = null;

  function health(): Promise<Health> {
    const now = performance.now();
    if (checked === null || now - checked.at > healthFor) checked = { at: now, health: options.health() };
    return checked.health;
  }

  const standard = [
    route(
      {
        method: 'GET',
        path: '/healthz',
        summary: 'Whether the service can do its work',
        scope: null,
        answers: {
          200: { description: 'It can, perhaps not all of it', content: Health },
          503: { description: 'It cannot', content: Health },
        },
      },
      async () => {
        const now = await health();
        return { status: now.status === 'failing' ? 503 : 200, json: now };
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
      async () => ({ content: { type: registry.contentType, bytes: await registry.metrics() } }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/openapi.json',
        summary: 'This description',
        scope: 'read',
        answers: { 200: { description: 'An OpenAPI 3.1 document', content: t.UnknownRecord } },
      },
      async () => ({ json: document }),
    ),
  ];
  const document = openApiDocument({ title: service, version }, [...options.routes, ...standard]);
  return standard;
}
