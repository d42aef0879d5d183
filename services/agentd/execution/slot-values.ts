import type { ActionDefinition } from '../action.ts';
import { inlineCode } from '../planning/plain-text.ts';
import type { Run } from '../runs/run.ts';
import { outcomeFact, type SlotValues } from './action-executor.ts';

/** What is known now of the slots that a published text may name. */
export function slotValues(run: Run, changedSince: readonly string[]): SlotValues {
  const url = outcomeFact(run, 'open_pull_request', 'url');
  const number = outcomeFact(run, 'open_pull_request', 'number');
  return {
    run_id: run.run_id,
    approved_by: approvedBy(run),
    validation: validationText(run),
    audit_head: `event ${run.head.seq}, sha256 \`${run.head.hash}\``,
    changed_since: changedSince.length === 0 ? 'none' : changedSince.map(inlineCode).join(', '),
    ...(number === undefined
      ? {}
      : { pull_request: typeof url === 'string' ? url : `Pull request #${number}` }),
  };
}

function approvedBy(run: Run): string {
  const rows = run.actions.flatMap(({ definition, approval, decision }) =>
    approval === 'approved' && decision !== null
      ? [`- ${label(definition)}: ${decision.approver}, ${decision.at}`]
      : [],
  );
  return rows.join('\n');
}

function label({ ordinal, kind, digest }: ActionDefinition): string {
  return `${ordinal} \`${kind}\` (\`${digest.slice(0, 12)}\`)`;
}

function validationText(run: Run): string {
  const validation = run.actions.find(({ definition }) => definition.kind === 'run_validation');
  if (validation === undefined) return 'none was proposed';
  const report = outcomeFact(run, 'run_validation', 'report');
  const detail = inlineCode(validation.outcome?.message ?? `not run (${validation.state})`);
  return typeof report === 'string' ? `${detail} (report sha256 \`${report.slice(0, 16)}\`)` : detail;
}
