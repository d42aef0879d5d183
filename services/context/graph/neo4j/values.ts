import neo4j from 'neo4j-driver';
import { byName, plainValue } from '../cypher-engine.ts';

/** Neo4j's values as both engines give them. */
export function plain(value: unknown): unknown {
  return plainValue(value, plainObject);
}

function plainObject(value: object): unknown {
  if (neo4j.isNode(value))
    return { labels: value.labels.toSorted(), properties: plain(byName(value.properties)) };
  if (neo4j.isRelationship(value)) return { type: value.type, properties: plain(byName(value.properties)) };
  if (neo4j.isPath(value)) {
    const { start, segments } = value;
    const nodes = [start, ...segments.map(({ end }) => end)].map(plain);
    return { nodes, relationships: segments.map(({ relationship }) => plain(relationship)) };
  }
  if (neo4j.isPoint(value)) {
    const { srid, x, y, z } = value;
    return { srid: Number(srid), x, y, ...(z === undefined ? {} : { z }) };
  }
  const isTemporal =
    neo4j.isDate(value) ||
    neo4j.isDateTime(value) ||
    neo4j.isLocalDateTime(value) ||
    neo4j.isTime(value) ||
    neo4j.isLocalTime(value) ||
    neo4j.isDuration(value);
  return isTemporal ? String(value) : undefined;
}

/** What Neo4j keeps as whole numbers: JavaScript's own would all arrive as floats. */
export function toNeo4j(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toNeo4j);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toNeo4j(each)]));
}
