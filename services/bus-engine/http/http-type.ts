import type { Owners } from '../registry/owners.ts';
import {
  conditionOf,
  configOf,
  type Trigger,
  TriggerRefused,
  type TriggerType,
} from '../triggers/trigger.ts';
import { type HttpMethod, type HttpRoute, httpMethods, type RouteTable } from './route-table.ts';

/** `http` {api_path, http_method?, condition_function_id?, public?}. */
export function httpType(routes: RouteTable, owners: Owners): TriggerType {
  return {
    id: 'http',
    description: 'Calls a function for each HTTP request to a path',
    register: (trigger) => routes.add(routeOf(trigger, owners)),
    unregister: ({ id }) => routes.remove(id),
  };
}

function routeOf(trigger: Trigger, owners: Owners): HttpRoute {
  const {
    api_path,
    http_method = 'GET',
    middleware_function_ids,
    public: isPublic = false,
  } = configOf(trigger);
  if (typeof api_path !== 'string' || api_path === '')
    throw new TriggerRefused('api_path is required for http triggers');
  if (!/^[\x21-\x7e]{1,500}$/.test(api_path) || /[?#]|\/\/|(^|\/)\.{1,2}(\/|$)/.test(api_path))
    throw new TriggerRefused(
      `api_path ${JSON.stringify(api_path.slice(0, 80))}: must be a path such as /orders/:id, without query or dots`,
    );
  if (/^\/?healthz$/.test(api_path)) throw new TriggerRefused('api_path /healthz is the engine’s own');
  const method = typeof http_method === 'string' ? http_method.toUpperCase() : '';
  if (!httpMethods.includes(method as HttpMethod))
    throw new TriggerRefused(
      `http_method ${JSON.stringify(http_method)}: must be one of ${httpMethods.join(', ')}`,
    );
  if (Array.isArray(middleware_function_ids) && middleware_function_ids.length > 0)
    throw new TriggerRefused('middleware_function_ids: this engine runs no middleware; use a condition');
  if (typeof isPublic !== 'boolean') throw new TriggerRefused('public must be true or false');
  const owner = owners.ownerOf(trigger.functionId);
  if (isPublic && owner !== null && owner !== trigger.token)
    throw new TriggerRefused(
      `function ${trigger.functionId} belongs to the token ${owner}: others cannot make it public`,
    );
  const pattern = api_path.startsWith('/') ? api_path : `/${api_path}`;
  return { trigger, method: method as HttpMethod, pattern, condition: conditionOf(trigger), isPublic };
}
