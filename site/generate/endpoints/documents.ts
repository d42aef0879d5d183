import type { Route } from '../../../services/kit/http/route.ts';
import { standardRoutes } from '../../../services/kit/http/standard-routes.ts';
import { ownVersion } from '../../../services/kit/program.ts';
import { absent } from './absent.ts';
import type { DocumentedService } from './services.ts';

/** What a service answers, its standard routes last. */
export function allRoutes({ name, routes }: DocumentedService): Route[] {
  // Pages are for browsers; the page about them says what they are.
  const own = routes().filter(({ isPage }) => isPage !== true);
  const unasked = { health: absent, metrics: absent };
  const standard = standardRoutes({ service: name, version: ownVersion(), routes: own, ...unasked });
  return [...own, ...standard];
}

/** The same document as `GET /v1/openapi.json` of the running service. */
export async function openApiOf(service: DocumentedService): Promise<unknown> {
  const route = allRoutes(service).find(({ path }) => path === '/v1/openapi.json');
  if (route === undefined) throw new Error(`${service.name} describes no /v1/openapi.json`);
  const reply = await route.handle(absent);
  return 'json' in reply ? reply.json : null;
}
