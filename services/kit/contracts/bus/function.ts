import * as t from 'io-ts';
import { optional } from '../../decode.ts';

/** The functions that core-bus-worker registers. */
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
