import { withoutLookAlikes } from '#kit/cli/look-alikes.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import {
  approverText,
  countsText,
  type ProposedAction,
  rejectedText,
  signedBy,
} from '#kit/contracts/action.ts';
import { patchAuthorText } from '#kit/contracts/patch-author.ts';
import { shownPath } from '#kit/diff/line-text.ts';
import { type Row, type Style, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { waitsUnapproved } from '../state/naming.ts';
import { actionOf, isOpen, type OpenRun } from '../state/state.ts';
import { ShownAuthor, ShownFiles, ShownValidation, shapeOf } from './known-params.ts';
import { riskStyle } from './marks.ts';
import {
  barred,
  emptyLine,
  exactRow,
  field,
  hanging,
  heading,
  line,
  outputLine,
  quoted,
  type TextLine,
} from './text-lines.ts';

/** An action as it is read before it is approved. */
export interface Payload {
  /** Everything that the approval covers, but for the patch. */
  readonly covered: readonly TextLine[];
  /** Whether the patch belongs to it and follows. */
  readonly patch: boolean;
  /** What came of it. */
  readonly after: readonly TextLine[];
}

export interface Look {
  readonly glyphs: Glyphs;
}

export function payloadOf(open: OpenRun, action: ProposedAction, look: Look): Payload {
  const over = !isOpen(action) && action.state !== 'running';
  const covered = [
    ...head(action, look),
    // Of what is over its end is what one looks for.
    ...(over ? [...cameOfIt(action), emptyLine] : []),
    ...fields(open, action),
    emptyLine,
    heading(over ? 'What was approved' : 'What would happen'),
    ...params(action, look),
  ];
  const patch = action.kind === 'apply_patch';
  if (patch) covered.push(emptyLine, heading('The change, exactly as it would be applied'));
  const result = afterwards(open, action, look);
  // What is written now stands at the end.
  const after =
    action.state === 'running' ? [...origins(action), ...result] : [...result, ...origins(action)];
  return { covered, patch, after };
}

function head(action: ProposedAction, { glyphs }: Look): TextLine[] {
  const { ordinal, kind, title, risk, risk_score, risk_reasons, dry_run } = action;
  const lines = [
    line(
      span(`${ordinal} ${kind}`, { bold: true }),
      span('  '),
      span(`risk ${risk} ${risk_score}`, riskStyle(risk)),
    ),
  ];
  if (title !== kind) lines.push(line(span(withoutLookAlikes(visibleLine(glyphs.plain(title))))));
  for (const reason of risk_reasons)
    lines.push(
      hanging([span(`  ${glyphs.dot} `)], span(withoutLookAlikes(visibleLine(reason)), riskStyle(risk))),
    );
  for (const rejected of action.rejected_before ?? [])
    lines.push(line(span(withoutLookAlikes(visibleLine(rejectedText(rejected))), { color: 'yellow' })));
  if (dry_run) lines.push(line(span('A dry run: every check runs, no effect happens.', { color: 'cyan' })));
  return lines;
}

/** Who wrote the patch; no line where there is none. */
export function patchAuthorLines(open: OpenRun, indent = ''): TextLine[] {
  const text = patchAuthorText(open.detail?.plan);
  return text === null ? [] : [hanging([span(indent)], span(visibleLine(text), { bold: true }))];
}

function fields(open: OpenRun, action: ProposedAction): TextLine[] {
  const { kind, rationale, depends_on, influences } = action;
  const by = kind === 'apply_patch' ? patchAuthorLines(open) : [];
  const lines = [
    ...by,
    field('why', rationale),
    ...targetLines(action),
    field('approval', approvalText(action)),
  ];
  if (action.decision?.reason) lines.push(field('reason', action.decision.reason));
  lines.push(field('state', waitsUnapproved(action) ? 'pending' : action.state));
  const needed = depends_on.map((id) => {
    const other = actionOf(open, id);
    return other === null ? id : `${other.ordinal} ${other.kind}`;
  });
  if (needed.length > 0) lines.push(field('depends on', needed.join(', ')));
  const outside = influences.filter(({ trusted }) => !trusted).length;
  if (influences.length > 0) {
    const count = influences.length === 1 ? '1 source' : `${influences.length} sources`;
    lines.push(field('led by', `${count}, ${outside} of outsiders; listed at the end`));
  }
  return lines;
}

function origins({ digest, influences, history }: ProposedAction): TextLine[] {
  const lines = [emptyLine, heading('What led to it')];
  for (const { kind, source, author, trusted } of influences) {
    const by = author === null || source.includes(` by ${author}`) ? '' : ` by ${author}`;
    const style = trusted ? undefined : ({ color: 'yellow' } as const);
    lines.push(field(visibleLine(kind), `${source}${by}${trusted ? '' : ' (untrusted)'}`, style));
  }
  if (history != null) {
    const counts = countsText(history);
    if (counts !== '') lines.push(field('before', `like actions: ${counts}`));
  }
  lines.push(field('sha256', digest));
  return lines;
}

/** Where it would act: the digest covers that too. */
function targetLines({ target }: ProposedAction): TextLine[] {
  const { forge, owner, repo, base_branch, base_commit } = target;
  const base = typeof base_commit === 'string' ? `, base ${base_branch} @ ${base_commit.slice(0, 12)}` : '';
  return [field('acts on', `${forge} ${owner}/${repo}${base}`)];
}

export function approvalText(action: ProposedAction): string {
  const text = currentApproval(action);
  const { approval_problem: problem } = action;
  if (action.approval_lapsed !== true) return problem == null ? text : `${text}; ${problem.message}`;
  const reason = problem ?? action.outcome;
  const why = reason === null ? '' : ` (${reason.message})`;
  return `${text}; it does not count any more${why}: a approves it again`;
}

function currentApproval({ approval, decision, decisions, approval_progress }: ProposedAction): string {
  if (approval_progress !== undefined && approval !== 'rejected') {
    const who = (decisions ?? []).map(({ approver }) => approver).join(', ');
    const so = approval === 'required' ? 'waits for people' : approval;
    return `${so}: ${approval_progress.text}${who === '' ? '' : ` (${who})`}; needs ${approval_progress.needs}`;
  }
  if (decision === null) return approval === 'required' ? 'waits for you' : approval;
  const claimed = decision.claimed_approver === null ? '' : ` (as ${decision.claimed_approver})`;
  const expires = decision.expires_at === null ? '' : `, until ${moment(decision.expires_at)}`;
  return `${approval} by ${approverText(decision)}${claimed}${signedBy(decision)} at ${moment(decision.at)}${expires}`;
}

function moment(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}

function params(action: ProposedAction, look: Look): TextLine[] {
  const fields: Named[] = [];
  const below: TextLine[] = [];
  for (const [name, value] of Object.entries(action.params)) {
    const plan = name === 'plan' ? shapeOf(ShownValidation, value) : null;
    const files = name === 'files' ? shapeOf(ShownFiles, value) : null;
    if (plan !== null) fields.push(...validation(plan));
    else if (files !== null) below.push(...fileLines(files, look));
    else if (typeof value === 'string' && (value.includes('\n') || name === 'body'))
      below.push(emptyLine, heading(`${name}, as it will stand`), ...template(value, look));
    else fields.push([name, valueText(value)]);
  }
  // All under one another, however long a name is.
  const columns = Math.max(0, ...fields.map(([name]) => name.length + 1));
  return [...fields.map(([name, text, style]) => field(name, text, style, columns)), ...below];
}

type Named = readonly [name: string, text: string, style?: Style];

/** The whole plan is covered by the digest; what has no words of its own follows as it is. */
function validation(plan: ShownValidation): Named[] {
  const network = plan.prepare_network ? 'with network' : 'without network';
  const {
    found,
    prepare,
    prepare_network: _,
    commands,
    limits,
    ...rest
  } = plan as typeof plan & Record<string, unknown>;
  const { seconds, memory_mib, ...otherLimits } = limits as typeof limits & Record<string, unknown>;
  const others = Object.entries(otherLimits).map(([name, value]) => `${name} ${valueText(value)}`);
  return [
    ['found in', found],
    ...prepare.map(({ run }): Named => ['prepares', `${run}  (${network}, before the patch)`]),
    ...commands.map(({ run }): Named => ['runs', run, { bold: true }]),
    ['limits', [`${seconds} s`, `${memory_mib} MiB`, ...others].join(', ')],
    ...Object.entries(rest).map(([name, value]): Named => [name, valueText(value)]),
  ];
}

/** Everything of the value; only empty ones, lists of texts and authors are not as in JSON. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  const author = shapeOf(ShownAuthor, value);
  if (author !== null && Object.keys(author).length === 2) return `${author.name} <${author.email}>`;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return value.length === 0 ? 'none' : value.join(', ');
  const text = JSON.stringify(value);
  return text === '{}' ? 'none' : text;
}

function fileLines(files: ShownFiles, { glyphs }: Look): TextLine[] {
  return files.map((file) => {
    const count: Row =
      file.added === null
        ? [span('binary')]
        : [
            span(`+${file.added}`, { color: 'green' }),
            span(' '),
            span(`${glyphs.minus}${file.removed}`, { color: 'red' }),
          ];
    const from = file.old_path === null ? '' : ` (from ${shownPath(file.old_path)})`;
    const mode =
      file.old_mode !== null && file.new_mode !== null && file.old_mode !== file.new_mode
        ? visibleLine(`  mode ${file.old_mode} to ${file.new_mode}`)
        : '';
    return hanging(
      [span(`  ${visibleLine(file.status).padEnd(9)} `, { color: 'gray' })],
      span(`${shownPath(file.path)}${from}`),
      span('  '),
      ...count,
      span(mode, { color: 'yellow' }),
    );
  });
}

const slotMeanings: Readonly<Record<string, string>> = {
  run_id: 'the identifier of this run',
  approved_by: 'who approved, action by action',
  validation: "the validation's result",
  audit_head: "the head of this run's record",
  statement: 'the digest of the in-toto statement of this run',
  pull_request: 'the address of the pull request',
  changed_since: 'files of the patch that changed on the base branch since',
  issue_since: 'changes of the issue after planning, if there are any',
};

/** A text with its slots standing out, and what will fill each. */
function template(text: string, { glyphs }: Look): TextLine[] {
  const bar = `${glyphs.bar} `;
  const lines = text
    .replace(/\n$/, '')
    .split('\n')
    .map((one) =>
      barred(
        bar,
        ...exactRow(one, glyphs).flatMap((part) =>
          part.style === undefined ? withSlots(part.text) : [part],
        ),
      ),
    );
  const used = Object.entries(slotMeanings).filter(([name]) => text.includes(`{{${name}}}`));
  return [
    ...lines,
    ...used.map(([name, meaning]) =>
      hanging(
        [span('  ')],
        span(`{{${name}}}`, { color: 'cyan' }),
        span(` is filled with ${meaning}`, { color: 'gray' }),
      ),
    ),
  ];
}

function withSlots(text: string): Row {
  return text
    .split(/(\{\{[a-z_]+\}\})/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('{{') ? span(part, { color: 'cyan' }) : span(part)));
}

function cameOfIt(action: ProposedAction): TextLine[] {
  const { outcome, state } = action;
  if (outcome === null || waitsUnapproved(action)) return [];
  const style = state === 'succeeded' ? ({ color: 'green' } as const) : ({ color: 'yellow' } as const);
  const { url } = outcome.facts;
  const lines = [emptyLine, heading('What came of it'), ...quoted(outcome.message, style, '  ')];
  if (typeof url === 'string') lines.push(field('  address', url));
  if (state === 'failed') {
    const again = 'x tries again, u takes back what was done; n in the list plans the issue again';
    lines.push(hanging([span('  ')], span(again, { color: 'gray' })));
  }
  return lines;
}

function afterwards(open: OpenRun, action: ProposedAction, look: Look): TextLine[] {
  const lines: TextLine[] = [];
  const sent = open.sent[action.action_id];
  const texts = Object.entries(sent ?? {}).filter(([, value]) => typeof value === 'string' && value !== '');
  if (texts.length > 0) {
    lines.push(emptyLine, heading('As it was sent'));
    for (const [name, text] of texts) {
      lines.push(line(span(visibleLine(name), { color: 'gray' })));
      lines.push(...quoted(text as string, undefined, `${look.glyphs.bar} `));
    }
  }
  if (isOpen(action)) lines.push(...cameOfIt(action));
  if (action.kind === 'run_validation' && open.output.length > 0) {
    lines.push(
      emptyLine,
      heading(open.recorded ? 'What it said' : 'What it says'),
      ...open.output.map(outputLine),
    );
  }
  return lines;
}
