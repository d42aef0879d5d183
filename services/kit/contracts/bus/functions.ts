import * as t from 'io-ts';
import { optional } from '../../decode.ts';
import { AgentMap } from '../bridge/events.ts';
import { CypherReply, cypherRequest } from '../context/cypher.ts';
import { LookupReply, LookupRequest } from '../context/memory.ts';
import { SearchReply, SearchRequest } from '../context/search.ts';
import { Health, HealthCheck } from '../health.ts';
import { FunctionFailure } from './function.ts';

/** What the functions other than planning take and give. Their results are values: `{ok: true, …}` or `{ok: false, error}`. */

export const EmptyRequest = t.strict({});

const ok = t.literal(true);

/** Health of core-agentd, and how the worker itself reaches the services that its functions ask. */
export const HealthResult = t.union([
  t.strict({ ok, ...Health.type.props, reaches: optional(t.record(t.string, HealthCheck)) }),
  FunctionFailure,
]);

export const SearchResultValue = t.union([t.strict({ ok, ...SearchReply.type.props }), FunctionFailure]);

export const LookupResultValue = t.union([t.strict({ ok, ...LookupReply.type.props }), FunctionFailure]);

export const CypherResult = t.union([t.strict({ ok, ...CypherReply.type.props }), FunctionFailure]);

export { LookupRequest, SearchRequest };

/** How many rows there may be at most is the context service's to say. */
export const CypherRequest = cypherRequest(1_000_000);

export const AgentMapResult = t.union([t.strict({ ok, ...AgentMap.type.props }), FunctionFailure]);
