import * as t from 'io-ts';
import { nullable, oneOf, optional, Sha256, Timestamp } from '../decode.ts';

export const Decision = t.strict({
  decision: oneOf(['approve', 'reject']),
  approver: t.string,
  claimed_approver: nullable(t.string),
  reason: nullable(t.string),
  digest: Sha256,
  at: Timestamp,
  expires_at: nullable(Timestamp),
});

/** A proposed action as it stands, as every service shows and reads it. */
export const ProposedAction = t.strict({
  run_id: t.string,
  action_id: t.string,
  kind: oneOf([
    'create_branch',
    'apply_patch',
    'run_validation',
    'commit',
    'push_branch',
    'open_pull_request',
    'comment_issue',
  ]),
  ordinal: t.number,
  gate: oneOf(['build', 'publish']),
  title: t.string,
  rationale: t.string,
  risk: oneOf(['low', 'medium', 'high', 'critical']),
  risk_score: t.number,
  risk_reasons: t.array(t.string),
  approval: oneOf(['required', 'approved', 'rejected']),
  /** The decision in force, with its reason and expiry. */
  decision: nullable(Decision),
  dry_run: t.boolean,
  depends_on: t.array(t.string),
  params: t.UnknownRecord,
  artifacts: t.record(t.string, Sha256),
  influences: t.array(
    t.strict({ kind: t.string, source: t.string, author: nullable(t.string), trusted: t.boolean }),
  ),
  target: t.UnknownRecord,
  digest: Sha256,
  state: oneOf(['pending', 'running', 'succeeded', 'failed', 'refused', 'blocked', 'unknown', 'undone']),
  outcome: nullable(t.strict({ code: optional(t.string), message: t.string, facts: t.UnknownRecord })),
  started_at: nullable(Timestamp),
  finished_at: nullable(Timestamp),
});
export type ProposedAction = t.TypeOf<typeof ProposedAction>;

/** `GET /v1/runs/{run_id}/actions`. */
export const ActionList = t.strict({ run_id: t.string, status: t.string, actions: t.array(ProposedAction) });
export type ActionList = t.TypeOf<typeof ActionList>;
