/** Grafeo's values as both engines give them. Entities carry fields that begin with `_`, which no property of ours does. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return plainInteger(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value.toISOString();
  const map = value as Record<string, unknown>;
  if ('_labels' in map) return { labels: sorted(map._labels), properties: properties(map) };
  if ('_type' in map) return { type: map._type, properties: properties(map) };
  if (isPath(map)) return { nodes: map.nodes.map(plain), relationships: map.edges.map(plain) };
  return Object.fromEntries(Object.entries(map).map(([key, each]) => [key, plain(each)]));
}

function plainInteger(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

function properties(entity: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(entity).filter(([key]) => !key.startsWith('_'));
  return Object.fromEntries(
    own.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, plain(each)]),
  );
}

function sorted(labels: unknown): unknown {
  return Array.isArray(labels) ? labels.toSorted() : labels;
}

/** Two lists, the first of them of nodes: a path has at least one. */
function isPath(map: Record<string, unknown>): map is { nodes: unknown[]; edges: unknown[] } {
  const { nodes, edges } = map;
  if (Object.keys(map).length !== 2 || !Array.isArray(nodes) || !Array.isArray(edges)) return false;
  const first = nodes[0] as unknown;
  return typeof first === 'object' && first !== null && '_labels' in first;
}
