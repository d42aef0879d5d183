import * as t from 'io-ts';
import { integerBetween, oneOf, optional } from '../../decode.ts';
import { CypherText } from './members.ts';

export const defaultCypherLimit = 100;

/** `POST /v1/graphdb/cypher`. @param rows the highest `limit`, from `config/context.json` */
export function cypherRequest(rows: number): t.Type<CypherRequest> {
  return t.strict({
    query: CypherText,
    /** Named in the query as `$name`. */
    params: optional(t.UnknownRecord),
    /** How many rows the reply holds at most; default 100, or the configured number where that is lower. */
    limit: optional(integerBetween(1, rows)),
  }) as unknown as t.Type<CypherRequest>;
}

export interface CypherRequest {
  readonly query: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly limit?: number | undefined;
}

export const CypherEngineName = oneOf(['grafeo', 'neo4j']);

/**
 * A node is `{labels, properties}`, a relationship `{type, properties}`, a path `{nodes, relationships}`. Integers beyond 2^53
 * are strings of digits, times ISO 8601.
 */
export const CypherReply = t.strict({
  columns: t.array(t.string),
  rows: t.array(t.UnknownRecord),
  /** There are more rows than these. */
  truncated: t.boolean,
  took_ms: t.number,
  engine: CypherEngineName,
});
export type CypherReply = t.TypeOf<typeof CypherReply>;
