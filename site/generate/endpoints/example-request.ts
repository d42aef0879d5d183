import type { Route } from '../../../services/kit/http/route.ts';
import { exampleOf } from './example.ts';
import { alwaysWithToken, requestExamples } from './request-examples.ts';
import { wellKnown } from './well-known.ts';

/** A request of somebody who follows the page. */
export interface ExampleRequest {
  readonly method: string;
  /** With what has to stand in its query. */
  readonly path: string;
  /** Whether it carries a token. */
  readonly withToken: boolean;
  readonly type: string | null;
  /** JSON; null where the request has no body, or uploads a file. */
  readonly body: unknown;
}

/** @param named gives the value of a parameter of the path, where another than the page's is meant */
export function exampleRequest(
  route: Route,
  named: (parameter: string, path: string) => string = exampleInPath,
): ExampleRequest {
  const { method, path, scope, body, query = {} } = route;
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, { required }]) => required)
      .map(([name]): [string, string] => [name, String(wellKnown[name] ?? name.toUpperCase())]),
  );
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => named(parameter, path));
  return {
    method,
    path: search.size === 0 ? filled : `${filled}?${search}`,
    withToken: (scope !== null && scope !== 'read') || alwaysWithToken.has(`${method} ${path}`),
    type: 'codec' in body ? 'application/json' : body.kind === 'upload' ? body.types[0] : null,
    body: 'codec' in body ? (requestExamples[`${method} ${path}`] ?? exampleOf(body.codec, false)) : null,
  };
}

function exampleInPath(parameter: string, path: string): string {
  if (path.startsWith('/v1/keys')) return 'key_0123456789abcdef';
  if (path.startsWith('/v1/models')) return 'coder';
  if (path.startsWith('/v1beta/models')) return 'gemini';
  if (path.startsWith('/v1/memory')) return 'memory:01a200ab-2ef0-7697-a2c2-39942581a247';
  return String(wellKnown[parameter] ?? parameter.toUpperCase());
}
