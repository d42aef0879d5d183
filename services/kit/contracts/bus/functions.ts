import * as t from 'io-ts';
import { integerBetween, NonEmptyString, nullable, optional, stringThat } from '../../decode.ts';
import { AgentMap } from '../bridge/events.ts';
import { CypherReply, cypherRequest } from '../context/cypher.ts';
import { LookupReply, LookupRequest } from '../context/memory.ts';
import { SearchReply, SearchRequest } from '../context/search.ts';
import { Health } from '../health.ts';
import { RunStatus } from '../run.ts';
import { RunTrigger } from '../run-trigger.ts';

/** The functions that core-bus-worker registers. Their results are values: `{ok: true, …}` or `{ok: false, error}`. */

export const functionIds = {
  health: 'core.agent.health',
  search: 'core.graph.search',
  lookup: 'core.graph.memory_lookup',
  cypher: 'core.graph.cypher',
  agentMap: 'core.dashboard.agent_map',
  planIssue: 'core.agent.plan_issue',
} as const;

/** What a function could not do, and why. */
export const FunctionFailure = t.strict({
  ok: t.literal(false),
  error: t.strict({
    /** In snake_case; listed on the site. */
    code: t.string,
    message: t.string,
    /** The HTTP status that the service behind gave, or would have. */
    status: t.number,
    /** Whether the same call can succeed later. */
    retryable: t.boolean,
    /** Where the request breaks a rule: JSON pointer and rule. */
    errors: optional(t.array(t.strict({ pointer: t.string, detail: t.string }))),
    hint: optional(t.string),
  }),
  /** The run that was made and whose planning failed. */
  run_id: optional(t.string),
});
export type FunctionFailure = t.TypeOf<typeof FunctionFailure>;

export const EmptyRequest = t.strict({});

const ok = t.literal(true);

export const HealthResult = t.union([t.strict({ ok, ...Health.type.props }), FunctionFailure]);
export type HealthResult = t.TypeOf<typeof HealthResult>;

export const SearchResultValue = t.union([t.strict({ ok, ...SearchReply.type.props }), FunctionFailure]);
export type SearchResultValue = t.TypeOf<typeof SearchResultValue>;

export const LookupResultValue = t.union([t.strict({ ok, ...LookupReply.type.props }), FunctionFailure]);
export type LookupResultValue = t.TypeOf<typeof LookupResultValue>;

export const CypherResult = t.union([t.strict({ ok, ...CypherReply.type.props }), FunctionFailure]);
export type CypherResult = t.TypeOf<typeof CypherResult>;

export { LookupRequest, SearchRequest };

/** How many rows there may be at most is the context service's to say. */
export const CypherRequest = cypherRequest(1_000_000);

export const AgentMapResult = t.union([t.strict({ ok, ...AgentMap.type.props }), FunctionFailure]);
export type AgentMapResult = t.TypeOf<typeof AgentMapResult>;

export const EventId = stringThat(
  'EventId',
  'a text of 1 to 1000 characters that is not only white space',
  (text) => text.trim() !== '' && text.length <= 1_000,
);

/** Planning one issue for one event. The same event again names the same run, and waits for the same planning. */
export const PlanIssueRequest = t.strict({
  event_id: EventId,
  owner: NonEmptyString,
  repo: NonEmptyString,
  number: integerBetween(1, 2_147_483_647),
  /** Name of a forge in config/forges.json; its default without it. */
  forge: optional(nullable(NonEmptyString)),
  /** Name of a role or its dashboard key. */
  role: optional(nullable(NonEmptyString)),
  /** What led to it, kept with the run. */
  trigger: optional(nullable(RunTrigger)),
});
export type PlanIssueRequest = t.TypeOf<typeof PlanIssueRequest>;

export const PlanIssueDone = t.strict({
  ok,
  run_id: t.string,
  status: RunStatus,
  /** False where an earlier call of the same event made the run. */
  created: t.boolean,
  /** How many actions were proposed. */
  actions: t.number,
});
export const PlanIssueResult = t.union([PlanIssueDone, FunctionFailure]);
export type PlanIssueResult = t.TypeOf<typeof PlanIssueResult>;
