import * as t from 'io-ts';
import { nullable, oneOf, optional, Sha256, Timestamp } from '../decode.ts';

/** What lies behind the digests of a run, as far as others than core-agentd show it. */

/** `issue.content`: issue and comments as they were read, secrets masked. */
const Writer = t.strict({ login: t.string, association: t.string });
export const IssueThread = t.strict({
  issue: t.strict({
    title: t.string,
    body: t.string,
    state: t.string,
    author: Writer,
    labels: t.array(t.string),
    html_url: nullable(t.string),
  }),
  comments: t.array(t.strict({ body: t.string, author: Writer, created_at: t.string })),
});
export type IssueThread = t.TypeOf<typeof IssueThread>;

const ValidationStep = t.strict({
  phase: oneOf(['prepare', 'run']),
  name: t.string,
  run: t.string,
  exit_code: nullable(t.number),
  ended_by: oneOf(['exit', 'signal', 'timeout', 'memory', 'cancelled']),
  duration_ms: t.number,
  truncated: t.boolean,
  log: Sha256,
});

/** `outcome.facts.report` of a validation; its logs are artifacts of their own. */
export const ValidationReport = t.strict({
  passed: t.boolean,
  tree: t.string,
  base_commit: t.string,
  /** `unshare`: the weak one, as older versions named it. */
  sandbox: oneOf(['bubblewrap', 'unshare (weak)', 'none', 'unshare']),
  started_at: Timestamp,
  duration_ms: t.number,
  prepared: oneOf(['none', 'cached', 'made']),
  steps: t.array(ValidationStep),
  /** The same commands on the base, where one failed. Missing in reports of older versions. */
  base: optional(
    t.strict({
      tree: t.string,
      steps: t.array(ValidationStep),
      /** Failed tests, or failed commands whose output names none. */
      failures: t.number,
      /** How many of them the base has too. */
      on_base: t.number,
      new_failures: t.array(t.string),
      /** Why it is unknown whether something new fails. */
      undecided: t.array(t.string),
    }),
  ),
});
export type ValidationReport = t.TypeOf<typeof ValidationReport>;

/** `progress` among the events of a run: what the daemon does now, not recorded. */
export const RunProgress = t.strict({
  step: t.string,
  state: oneOf(['started', 'output', 'succeeded', 'failed', 'refused', 'blocked', 'unknown', 'info']),
  message: t.string,
  action_id: optional(t.string),
  duration_ms: optional(t.number),
});
export type RunProgress = t.TypeOf<typeof RunProgress>;

/** `GET /v1/runs/{run_id}/undo`. */
export const UndoPlan = t.strict({
  run_id: t.string,
  steps: t.array(t.strict({ action_id: t.string, kind: t.string, effect: t.string, message: t.string })),
});
export type UndoPlan = t.TypeOf<typeof UndoPlan>;
