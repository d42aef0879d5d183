import type { Owners } from '../registry/functions.ts';
import {
  conditionOf,
  configOf,
  type Trigger,
  TriggerRefused,
  type TriggerType,
} from '../triggers/trigger.ts';

export const httpMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;
export type HttpMethod = (typeof httpMethods)[number];

export interface HttpRoute {
  readonly trigger: Trigger;
  readonly method: HttpMethod;
  /** With a leading slash; `:name` stands for any one segment. */
  readonly pattern: string;
  readonly condition: string | null;
  /** Whether no token is needed. */
  readonly isPublic: boolean;
}

export interface MatchedRoute {
  readonly route: HttpRoute;
  /** As they came, percent signs included. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Routes by method and shape. Of two routes of one shape the first answers, and the second when it is gone; of two that fit a path,
 * the one with the earlier fixed segment.
 */
export class RouteTable {
  readonly #byShape = new Map<string, HttpRoute[]>();

  /**
   * @returns why it has to wait, where another function has a route of that shape: it answers when that one is gone
   * @throws TriggerRefused for one that would have to wait and belongs to no connection
   */
  add(route: HttpRoute): string | null {
    const shape = shapeOf(route);
    const others = (this.#byShape.get(shape) ?? []).filter(({ trigger }) => trigger.id !== route.trigger.id);
    const [first] = others;
    const taken =
      first === undefined
        ? null
        : `${route.method} ${route.pattern} is defined already, as ${first.pattern} for ${first.trigger.functionId}`;
    // Nobody would know its id.
    if (taken !== null && route.trigger.owner === null) throw new TriggerRefused(taken);
    this.#byShape.set(shape, [...others, route]);
    return taken && `${taken}: this one answers when that one is gone`;
  }

  remove(triggerId: string): void {
    for (const [shape, routes] of this.#byShape) {
      const others = routes.filter(({ trigger }) => trigger.id !== triggerId);
      if (others.length === 0) this.#byShape.delete(shape);
      else if (others.length < routes.length) this.#byShape.set(shape, others);
    }
  }

  find(method: string, path: string): MatchedRoute | null {
    const segments = segmentsOf(path);
    let best: { readonly route: HttpRoute; readonly fixed: string } | null = null;
    for (const [route] of this.#byShape.values()) {
      if (route === undefined || route.method !== method) continue;
      const fixed = fit(segmentsOf(route.pattern), segments);
      if (fixed !== null && (best === null || fixed > best.fixed)) best = { route, fixed };
    }
    return best === null ? null : { route: best.route, params: paramsOf(best.route, segments) };
  }

  methodsOf(path: string): string[] {
    return httpMethods.filter((method) => this.find(method, path) !== null);
  }
}

/** 1 for each segment that is the same, 0 for each that a parameter takes; null where the path does not fit. */
function fit(pattern: readonly string[], path: readonly string[]): string | null {
  if (pattern.length !== path.length) return null;
  let fixed = '';
  for (const [nth, segment] of pattern.entries()) {
    if (segment.startsWith(':')) fixed += '0';
    else if (segment === path[nth]) fixed += '1';
    else return null;
  }
  return fixed;
}

function paramsOf({ pattern }: HttpRoute, path: readonly string[]): Record<string, string> {
  const named = segmentsOf(pattern).map((segment, nth) => [segment, path[nth]!] as const);
  return Object.fromEntries(
    named.filter(([segment]) => segment.startsWith(':')).map(([segment, value]) => [segment.slice(1), value]),
  );
}

function shapeOf({ method, pattern }: HttpRoute): string {
  return `${method} /${segmentsOf(pattern)
    .map((segment) => (segment.startsWith(':') ? ':' : segment))
    .join('/')}`;
}

function segmentsOf(path: string): string[] {
  const bare = path.replace(/^\/+|\/+$/g, '');
  return bare === '' ? [] : bare.split('/');
}

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
