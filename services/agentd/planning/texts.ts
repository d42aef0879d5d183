import { inert, inlineCode, oneLine as plainLine, plainText } from './plain-text.ts';
import { withoutSlots } from './template.ts';

/** The texts that a run publishes, as templates; see `slots` for what is filled in later. */

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
