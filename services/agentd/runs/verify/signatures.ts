import type { Approval } from '../../action.ts';
import type { CheckedApproval, FoundProblem, SignedDecision } from '../../agent.ts';
import { deciderOf } from '../../approval/progress.ts';
import { type ApprovalSignatures, requiredBy } from '../../signatures/approval-signatures.ts';
import { approvalNamespace, approvalText, signedFacts } from '../../signatures/approval-text.ts';
import type { RunEvent } from '../event.ts';
import { termsOf } from '../log/fold.ts';
import { logName } from '../log/run-folder.ts';

interface Found extends CheckedApproval {
  readonly approval: Approval;
}

/**
 * Checks the signature of every decision by the keys that were valid when it was signed. If the policy requires signatures, also checks
 * that no action has started, or can start, without one.
 */
export function checkSignatures(
  runId: string,
  events: readonly RunEvent[],
  signatures: ApprovalSignatures,
  log: string = logName,
): { readonly approvals: readonly CheckedApproval[]; readonly problems: readonly FoundProblem[] } {
  const found = findDecisions(runId, events, signatures);
  const counting = signatures.required ? countingApprovals(found, events) : new Set<Found>();
  const problems = found.flatMap((one): FoundProblem[] => {
    const where = `${log} line ${one.seq} (approval_recorded)`;
    const { action_id, approver, problem, signature } = one;
    if (problem !== null)
      return [{ where, what: `the signature of the decision about ${action_id} does not hold: ${problem}` }];
    if (signature !== null || !counting.has(one)) return [];
    return [{ where, what: `the approval of ${action_id} by ${approver} is not signed (${requiredBy})` }];
  });
  return { approvals: found.map(({ approval: _, ...one }) => one), problems };
}

/** Every signed decision of the record, including decisions that were changed since. */
export function signedDecisions(runId: string, events: readonly RunEvent[]): SignedDecision[] {
  return events.flatMap((event): SignedDecision[] => {
    if (event.type !== 'approval_recorded') return [];
    const { action_id, approval } = event.data;
    const facts = signedFacts({ run_id: runId, action_id }, approval);
    if (facts === null) return [];
    const { decision, approver, signature } = approval;
    const { value, principal, key, signed_at } = signature!;
    const common = { seq: event.seq, action_id, decision, approver, principal, key, signed_at };
    return [{ ...common, namespace: approvalNamespace, text: approvalText(facts), signature: value }];
  });
}

function findDecisions(runId: string, events: readonly RunEvent[], signatures: ApprovalSignatures): Found[] {
  return events.flatMap((event): Found[] => {
    if (event.type !== 'approval_recorded') return [];
    const { action_id, approval } = event.data;
    const { decision, approver, at, signature } = approval;
    const problem = signatures.recordedProblem({ run_id: runId, action_id }, approval)?.message ?? null;
    const { principal, key, signed_at } = signature ?? {};
    return [
      {
        seq: event.seq,
        action_id,
        decision,
        approver,
        at,
        signature:
          signature === undefined ? null : { principal: principal!, key: key!, signed_at: signed_at! },
        problem,
        approval,
      },
    ];
  });
}

/** Approvals by which an action was or could be started: the last approval, or the last of each person if rules count people. */
function countingApprovals(found: readonly Found[], events: readonly RunEvent[]): Set<Found> {
  const bySeq = new Map(found.map((one) => [one.seq, one]));
  const inForce = new Map<string, readonly Found[]>();
  const plan = events.find((event) => event.type === 'plan_sealed')?.data.plan;
  const counting = new Set<Found>();
  let dryRun = false;
  for (const event of events) {
    const decision = bySeq.get(event.seq);
    if (decision !== undefined) {
      const { action_id, approval } = decision;
      const ruled = plan !== undefined && termsOf(plan, action_id) !== null;
      const others = ruled ? (inForce.get(action_id) ?? []) : [];
      const kept = others.filter((one) => deciderOf(one.approval) !== deciderOf(approval));
      inForce.set(action_id, [...kept, decision]);
    }
    if (event.type === 'execution_started') dryRun = event.data.dry_run;
    if (event.type !== 'action_intent' || dryRun) continue;
    for (const one of inForce.get(event.data.action_id) ?? []) counting.add(one);
  }
  for (const one of [...inForce.values()].flat()) counting.add(one);
  return new Set([...counting].filter(({ decision }) => decision === 'approve'));
}
