import { approverText } from '#kit/contracts/action.ts';
import { authorText, type PatchAuthor } from '#kit/contracts/patch-author.ts';
import { Failed } from '#kit/errors.ts';
import { progressOf } from '../approval/progress.ts';
import type { UntestedFile } from '../validation/coverage.ts';
import { outcomeFact, type RunSoFar } from './executor.ts';

/** Slots of a template: `{{name}}`; each has one meaning and one form. */
export const slots = {
  run_id: 'identifier of the run',
  approved_by: 'who approved the actions, by action',
  validation: 'result of the validation',
  audit_head: 'head of the run record when the text was written',
  statement: 'sha256 of the in-toto statement of the run when the text was written',
  pull_request: 'address of the pull request',
  changed_since: 'files of the patch that changed on the base branch since',
  issue_since: 'changes of the issue after planning, if there are any',
} as const;
type SlotValues = Readonly<Partial<Record<keyof typeof slots, string>>>;

/** Untrusted text with `{{` broken up into `{ {`, so that it cannot be read as a slot. */
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

/** Current values of the slots that every published text may use: all but `changed_since`, `issue_since` and `statement`. */
export function slotValues(run: RunSoFar): SlotValues {
  const url = outcomeFact(run, 'open_pull_request', 'url');
  const number = outcomeFact(run, 'open_pull_request', 'number');
  return {
    run_id: run.run_id,
    approved_by: approvedBy(run),
    validation: validationText(run),
    audit_head: `event ${run.head.seq}, sha256 \`${run.head.hash}\``,
    ...(number === undefined
      ? {}
      : { pull_request: typeof url === 'string' ? url : `Pull request #${number}` }),
  };
}

/** Of the slot `changed_since`. @param files as git names them, from the root of the repository */
export function changedSinceText(files: readonly string[]): string {
  return files.length === 0 ? 'none' : files.map(inlineCode).join(', ');
}

/** Value of the slot `issue_since`: a paragraph, or nothing if the issue did not change. */
export function issueSinceText(changed: string | null): string {
  return changed === null ? '' : `\nChanges of the issue: ${inlineCode(changed)}\n`;
}

function approvedBy(run: RunSoFar): string {
  const rows = run.actions.flatMap(({ definition, approval, decision, decisions, terms }) => {
    if (approval !== 'approved' || decision === null) return [];
    const { ordinal, kind, digest } = definition;
    const counted = terms === null ? [decision] : decisions;
    const who = counted.map((one) => {
      const key = one.signature === undefined ? '' : `, signed with ${inlineCode(one.signature.key)}`;
      return `${approverText(one)}, ${one.at}${key}`;
    });
    const met = terms === null ? '' : ` (${progressOf({ terms, digest }, decisions, decision.at).text})`;
    return [`- ${ordinal} \`${kind}\` (\`${digest.slice(0, 12)}\`): ${who.join('; ')}${met}`];
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

export function commitMessage(
  title: string,
  number: number | null,
  runId: string,
  explanation: string,
): string {
  const body = firstParagraph(explanation);
  return `${titleOf(title, number)}\n\n${body === '' ? '' : `${body}\n\n`}Core-Run: ${runId}\n`;
}

export function pullRequestTitle(title: string, number: number | null): string {
  return titleOf(title, number);
}

function titleOf(title: string, number: number | null): string {
  return number === null ? titleLine(title) : `${titleLine(title)} (#${number})`;
}

export function pullRequestBody(options: {
  readonly run_id: string;
  readonly action_id: string;
  readonly number: number | null;
  readonly explanation: string;
  readonly patch_by: PatchAuthor;
  /** Changed files that no command of the validation is about, and those that take tests away. */
  readonly untested: readonly UntestedFile[];
  readonly actions: readonly { readonly ordinal: number; readonly kind: string; readonly what: string }[];
}): string {
  const rows = options.actions.map(
    ({ ordinal, kind, what }) => `| ${ordinal} | \`${kind}\` | ${cell(what)} |`,
  );
  const closes = options.number === null ? '' : `Closes #${options.number}\n\n`;
  return `${markdown(options.explanation)}

${closes}### How this came about

| # | action | what |
|---|---|---|
${rows.join('\n')}

Patch by ${withoutSlots(inlineCode(authorText(options.patch_by)))}

Approved by:
{{approved_by}}

Validation: {{validation}}
${untestedList(options.untested)}
Files of this change that were also changed on the base branch since it was planned: {{changed_since}}
{{issue_since}}
Run \`${options.run_id}\`, record at {{audit_head}}. Its in-toto statement: sha256 \`{{statement}}\`.

${marker(options.run_id, options.action_id)}
`;
}

function untestedList(untested: readonly UntestedFile[]): string {
  const rows = untested.map(({ path, why, what }) => {
    const name = `${what[0]!.toUpperCase()}${what.slice(1)}`;
    return `- ${name}: ${withoutSlots(inlineCode(path))} (${withoutSlots(inlineCode(why))})\n`;
  });
  return rows.length === 0 ? '' : `\n${rows.join('')}`;
}

export function issueComment(runId: string, actionId: string): string {
  return `{{pull_request}} proposes a change for this issue.

Validation: {{validation}}

Each step was approved before it ran; run \`${runId}\`.

${marker(runId, actionId)}
`;
}

export function plainComment(body: string, runId: string, actionId: string): string {
  return `${markdown(body)}\n\n${marker(runId, actionId)}\n`;
}

/** What a role that may not change code says about a change that it found. */
export function changeForAnotherRole(role: string, title: string, files: readonly string[]): string {
  const list = files.map((path) => `- ${inlineCode(path)}`).join('\n');
  return `A change for “${titleLine(title)}” is ready to be proposed. It touches:\n\n${list}\n\nThe role ${role} may comment only. Planning again with the role Depute proposes the change itself.`;
}

function titleLine(text: string): string {
  return withoutSlots(inert(oneLine(text)));
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

const maxTitleLength = 200;

/** One line without control, format and bidirectional override characters. */
export function oneLine(text: string, maxLength = maxTitleLength): string {
  const line = text
    .replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  // By code points, so that no surrogate pair is cut; the first slice bounds the work on a long text.
  return line.length > maxLength
    ? `${[...line.slice(0, 2 * maxLength)]
        .slice(0, maxLength - 1)
        .join('')
        .trimEnd()}…`
    : line;
}

/**
 * Several lines: line breaks and tabs stay, other control characters and bidirectional overrides go. A comment that looks like
 * the marker by which we find our own texts again is escaped, so that outsiders cannot make us publish a forged marker.
 */
export function plainText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu, '')
    .replace(/<!--(?=\s*core\b)/gi, '&lt;!--');
}

/**
 * Text in which nothing makes a forge act, as Markdown and as plain text: it closes and links no issue (`# 99`), mentions nobody
 * (`@ name`), skips no workflow (`[ skip ci]`), and hides nothing in a comment (`<! --`, `< ?`). The change is visible, since what is approved is what people see.
 */
export function inert(text: string): string {
  return text
    .replaceAll('<!--', '<! --')
    .replace(/<(?=\?|!(?:[A-Za-z]|\[))/g, '< ')
    .replace(/\[(?=(?:skip[ -]\w+|\w+[ -]skip|no[ -]ci)\])/gi, '[ ')
    .replace(/&(?=(?:#\w{1,10}|num|commat|excl);)/gi, '&amp;')
    .replace(/[#!](?=\d)/g, '$& ')
    .replace(/\bGH-(?=\d)/gi, '$& ')
    .replace(/(?<![A-Za-z0-9_])@(?=\w)/g, '@ ')
    .replace(/\b(clos|fix|resolv|implement)(e[sd]?|s|ed|ing|)\b[^\w\n]{0,5}(?=https?:)/gi, '$1$2 — ');
}

/** An indented code block: nothing in it is Markdown, mentions nobody and closes no fence. */
export function quotedWords(text: string, maxLength = 2000): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return plainText(cut)
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

/** Inline code, also for text that holds backticks. */
export function inlineCode(text: string): string {
  const line = oneLine(text);
  const maxRunLength = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(maxRunLength + 1);
  return maxRunLength === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}
