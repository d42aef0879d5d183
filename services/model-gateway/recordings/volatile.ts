/** Members of a request that say nothing about what is asked. */
const volatileMembers = new Set([
  'user',
  'safety_identifier',
  'metadata',
  'store',
  'prompt_cache_key',
  'prompt_cache_retention',
  'service_tier',
]);

/** What differs between two runs of the same conversation: ids, times, durations and temporary folders. */
const volatileTexts: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g, '<digest>'],
  [/\bduration_ms:?\s+\d+(?:\.\d+)?/g, '<duration>'],
  [/\b\d+(?:\.\d+)?\s?(?:ms|µs|s)\b/g, '<duration>'],
  [/(?:\/private)?\/(?:tmp|var\/folders\/\w+\/\w+\/T|var\/tmp)\/[\w.+-]+/g, '<folder>'],
];

/** The request as it identifies a conversation. */
export function lasting(request: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const members = Object.entries(request).filter(([name]) => !volatileMembers.has(name));
  return Object.fromEntries(members.map(([name, value]) => [name, withoutVolatile(value)]));
}

function withoutVolatile(value: unknown): unknown {
  if (typeof value === 'string')
    return volatileTexts.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutVolatile);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutVolatile(item)]));
}
