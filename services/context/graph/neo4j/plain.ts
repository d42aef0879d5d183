import neo4j from 'neo4j-driver';

/** Neo4j's values as both engines give them. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return plainInteger(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value !== 'object') return value ?? null;
  if (Array.isArray(value)) return value.map(plain);
  if (neo4j.isNode(value))
    return { labels: value.labels.toSorted(), properties: properties(value.properties) };
  if (neo4j.isRelationship(value)) return { type: value.type, properties: properties(value.properties) };
  if (neo4j.isPath(value)) return plainPath(value);
  if (neo4j.isPoint(value)) return plainPoint(value);
  if (isTemporal(value)) return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function plainInteger(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
}

function plainPath({
  start,
  segments,
}: {
  start: unknown;
  segments: readonly { relationship: unknown; end: unknown }[];
}): unknown {
  return {
    nodes: [start, ...segments.map(({ end }) => end)].map(plain),
    relationships: segments.map(({ relationship }) => plain(relationship)),
  };
}

function plainPoint({
  srid,
  x,
  y,
  z,
}: {
  srid: unknown;
  x: number;
  y: number;
  z?: number | undefined;
}): unknown {
  return { srid: Number(srid), x, y, ...(z === undefined ? {} : { z }) };
}

function isTemporal(value: object): boolean {
  return (
    neo4j.isDate(value) ||
    neo4j.isDateTime(value) ||
    neo4j.isLocalDateTime(value) ||
    neo4j.isTime(value) ||
    neo4j.isLocalTime(value) ||
    neo4j.isDuration(value)
  );
}

function properties(own: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sorted = Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, each]) => [key, plain(each)]));
}
