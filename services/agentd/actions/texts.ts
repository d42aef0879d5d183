import { Failed } from '#kit/errors.ts';
import { outcomeFact, type RunSoFar } from './executor.ts';
import { inert, inlineCode, oneLine as plainLine, plainText } from './plain-text.ts';

/** The texts that a run publishes: templates, and what fills their slots at execution. */

/** Slots of a template: `{{name}}`; each has one meaning and one form. */
export const slots = {
  run_id: 'identifier of the run',
  approved_by: 'who approved the actions, by action',
  validation: 'result of the validation',
  audit_head: 'head of the run record when the text was written',
  pull_request: 'address of the pull request',
  changed_since: 'files of the patch that changed on the base branch since',
} as const;
type SlotValues = Readonly<Partial<Record<keyof typeof slots, string>>>;

/** Text from outside, made unable to open a slot: `{{` becomes `{ {`. */
export function withoutSlots(text: string): string {
  return text.replaceAll(/\{(?=\{)/g, '{ ');
}

/** Fills the slots of an approved template. Everything else stays byte for byte. */
export function fillTemplate(template: string, values: SlotValues): string {
  return template.replace(/\{\{([a-z_]+)\}\}/g, (text, name: string) => {
    if (!(name in slots)) return text;
    const value = values[name as keyof typeof slots];
    if (value === undefined) throw new Failed('slot_empty', `slot ${text} has no value yet`);
    return value;
  });
}

/** What is known now of the slots that a published text may name. */
export function slotValues(run: RunSoFar, changedSince: readonly string[]): SlotValues {
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

function approvedBy(run: RunSoFar): string {
  const rows = run.actions.flatMap(({ definition, approval, decision }) => {
    if (approval !== 'approved' || decision === null) return [];
    const { ordinal, kind, digest } = definition;
    return [`- ${ordinal} \`${kind}\` (\`${digest.slice(0, 12)}\`): ${decision.approver}, ${decision.at}`];
  });
  return rows.join('\n');
}

function validationText(run: RunSoFar): string {
  const validation = run.actions.find(({ definition }) => definition.kind === 'run_validation');
  if (validation === undefined) return 'none was proposed';
  const report = outcomeFact(run, 'run_validation', 'report');
  const detail = inlineCode(validation.outcome?.message ?? `not run (${validation.state})`);
  return typeof report === 'string' ? `${detail} (report sha256 \`${report.slice(0, 16)}\`)` : detail;
}

/** Invisible in Markdown; finds our own comment again after an unknown outcome. */
export function marker(runId: string, actionId: string): string {
  return `<!-- core run=${runId} action=${actionId} -->`;
}

export function commitMessage(title: string, number: number, runId: string, explanation: string): string {
  const body = firstParagraph(explanation);
  return `${oneLine(title)} (#${number})\n\n${body === '' ? '' : `${body}\n\n`}Core-Run: ${runId}\n`;
}

export function pullRequestTitle(title: string, number: number): string {
  return `${oneLine(title)} (#${number})`;
}

export function pullRequestBody(options: {
  readonly run_id: string;
  readonly action_id: string;
  readonly number: number;
  readonly explanation: string;
  readonly actions: readonly { readonly ordinal: number; readonly kind: string; readonly what: string }[];
}): string {
  const rows = options.actions.map(
    ({ ordinal, kind, what }) => `| ${ordinal} | \`${kind}\` | ${cell(what)} |`,
  );
  return `${markdown(options.explanation)}

Closes #${options.number}

### How this came about

| # | action | what |
|---|---|---|
${rows.join('\n')}

Approved by:
{{approved_by}}

Validation: {{validation}}

Files of this change that moved on the base branch since it was planned: {{changed_since}}

Run \`${options.run_id}\`, record at {{audit_head}}.

${marker(options.run_id, options.action_id)}
`;
}

export function issueComment(runId: string, actionId: string): string {
  return `{{pull_request}} proposes a change for this issue.

Validation: {{validation}}

Each step was approved by a person; run \`${runId}\`.

${marker(runId, actionId)}
`;
}

export function plainComment(body: string, runId: string, actionId: string): string {
  return `${markdown(body)}\n\n${marker(runId, actionId)}\n`;
}

/** What a role that may not change code says about a change that it found. */
export function changeForAnotherRole(role: string, title: string, files: readonly string[]): string {
  const list = files.map((path) => `- ${inlineCode(path)}`).join('\n');
  return `A change for “${oneLine(title)}” is ready to be proposed. It touches:\n\n${list}\n\nThe role ${role} may comment only. Planning again with the role Depute proposes the change itself.`;
}

function oneLine(text: string): string {
  return withoutSlots(inert(plainLine(text)));
}

function markdown(text: string): string {
  return withoutSlots(inert(plainText(text)).trim());
}

function firstParagraph(explanation: string): string {
  return markdown(explanation.trim().split(/\n\s*\n/)[0] ?? '');
}

/** Code in a table: a bar ends the cell unless exactly one backslash stands before it. */
function cell(text: string): string {
  return withoutSlots(inlineCode(text))
    .replaceAll('<!--', '<! --')
    .replace(/\\+(?=\|)/g, '$& ')
    .replaceAll('|', '\\|');
}
