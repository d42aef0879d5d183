import { isObject } from '#kit/is-object.ts';
import { firstNotAllowed } from '../dialects/allowed.ts';
import { dialectFor, endpointFacts } from '../dialects/registry.ts';
import { type DecodedCall, InvalidCall } from './decode-call.ts';

/**
 * What a run is planned with may be bound to a sandbox and to a budget. An upstream that reaches others, or takes another price or
 * model, because of something in the request is bound to neither.
 * @throws InvalidCall naming the first part of the request that is not allowed with the key of a run
 */
export function checkAllowed(
  call: DecodedCall,
  { hasHourPrice = false }: { readonly hasHourPrice?: boolean },
): void {
  const { memberName } = dialectFor(call.endpoint);
  const found = firstNotAllowed(call.request, endpointFacts(call.endpoint).allowed, memberName);
  if (found !== null) {
    const { path, why } = found;
    throw new InvalidCall('invalid_input', `${path} is not possible with the key of a run: ${why}`, path);
  }
  const ttl = unusualTtl(call);
  if (ttl === undefined || (ttl === '1h' && hasHourPrice)) return;
  const is = JSON.stringify(ttl).slice(0, 80);
  const must = hasHourPrice ? '5m or 1h' : '5m';
  throw new InvalidCall(
    'invalid_input',
    `cache_control.ttl is ${is}: must be ${must} with the key of a run, as the price of another is not known here`,
    'cache_control.ttl',
  );
}

/** The first time to live of a breakpoint of the prompt cache that is not the usual 5m; undefined where there is none. */
export function unusualTtl({ request }: Pick<DecodedCall, 'request'>): unknown {
  return ttlIn(request);
}

function ttlIn(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const { cache_control: marked } = value as { readonly cache_control?: unknown };
  const ttl = isObject(marked) ? marked.ttl : null;
  if (ttl != null && ttl !== '5m') return ttl;
  for (const inner of Object.values(value)) {
    const found = ttlIn(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
