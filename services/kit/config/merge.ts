type Json = unknown;

/** Objects merge member by member; arrays and everything else of `over` replace what was there. */
export function mergeJson(base: Json, over: Json): Json {
  if (!isObject(base) || !isObject(over)) return over;
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    merged.set(key, merged.has(key) ? mergeJson(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}

/** Whether the document has a value at the JSON pointer (RFC 6901). */
export function hasPointer(document: Json, pointer: string): boolean {
  return valueAt(document, pointer) !== undefined;
}

/** The value at a JSON pointer; undefined where there is none. */
export function valueAt(document: Json, pointer: string): Json {
  let value = document;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, Json>)[key];
  }
  return value;
}

export function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
