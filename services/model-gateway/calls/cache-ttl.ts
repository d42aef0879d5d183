import type { DecodedCall } from './decode-call.ts';

/** The first time to live of a breakpoint of the prompt cache that is not the usual 5m; undefined where there is none. */
export function unusualTtl({ request, bytes }: Pick<DecodedCall, 'request' | 'bytes'>): unknown {
  if (!bytes.includes('"ttl"')) return undefined;
  const messages = listOf(request.messages);
  const marked = [
    request,
    ...messages,
    ...messages.flatMap(({ content }) => listOf(content)),
    ...listOf(request.tools),
  ];
  return marked
    .map((one: { readonly cache_control?: { readonly ttl?: unknown } }) => one.cache_control?.ttl)
    .find((ttl) => ttl != null && ttl !== '5m');
}

// biome-ignore lint/suspicious/noExplicitAny: what clients send has every shape
function listOf(value: unknown): any[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}
