import { visibleLine } from '#kit/cli/terminal-text.ts';
import { issueAuthorText } from '#kit/contracts/patch-author.ts';
import { movedText, renamedText } from '#kit/contracts/run.ts';
import { span } from '../screen/cell.ts';
import { isPushed } from '../state/naming.ts';
import type { OpenRun } from '../state/state.ts';
import { ShownIssue, ShownPlan, ShownRequest, shapeOf } from './known-params.ts';
import { type Look, patchAuthorLines } from './payload.ts';
import { emptyLine, field, hanging, heading, line, quoted, type TextLine } from './text-lines.ts';

/** What is known of a run beside its actions: the issue, the plan, and what the plan was made with. */

export function planFacts({ detail }: OpenRun): ShownPlan {
  return shapeOf(ShownPlan, detail?.plan) ?? {};
}

export function requestFacts({ detail }: OpenRun) {
  return shapeOf(ShownRequest, detail?.request) ?? {};
}

export function issueFacts({ detail }: OpenRun) {
  return shapeOf(ShownIssue, detail?.issue) ?? {};
}

export function issueLines(open: OpenRun, { glyphs }: Look): TextLine[] {
  const { issue } = open;
  const facts = issueFacts(open);
  const bar = `${glyphs.bar} `;
  const lines = [heading(facts.title ?? 'The issue has not been read yet.')];
  const { author, association } = facts;
  if (author !== undefined && association !== undefined)
    lines.push(line(span(visibleLine(issueAuthorText(requestFacts(open).number, { author, association })))));
  if (facts.html_url) lines.push(field('address', facts.html_url));
  if (issue === null) return lines;
  if (issue.issue.labels.length > 0) lines.push(field('labels', issue.issue.labels.join(', ')));
  lines.push(emptyLine, ...quoted(issue.issue.body, undefined, bar));
  for (const comment of issue.comments) {
    const by = `${comment.author.login} (${comment.author.association}), ${comment.created_at.slice(0, 10)}`;
    lines.push(emptyLine, heading(by), ...quoted(comment.body, undefined, bar));
  }
  return lines;
}

export function planLines(open: OpenRun, { glyphs }: Look): TextLine[] {
  const { detail, explanation } = open;
  const plan = planFacts(open);
  if (detail?.failure != null) {
    const { code, message } = detail.failure;
    return [
      heading('Planning failed'),
      line(span(visibleLine(message), { color: 'red' })),
      field('code', code),
    ];
  }
  if (detail?.plan == null) return [heading('There is no plan yet.')];
  const lines = [
    heading(plan.title ?? 'Plan'),
    ...patchAuthorLines(open),
    field('planner', plan.planner ?? ''),
  ];
  if (detail.superseded_by !== null)
    lines.push(field('superseded by', detail.superseded_by, { color: 'yellow' }));
  if (detail.base_moved !== null && !isPushed(detail))
    lines.push(field('note', movedText(detail.base_moved), { color: 'yellow' }));
  if (detail.renamed !== null) {
    const { owner, repo } = requestFacts(open);
    lines.push(field('note', renamedText(`${owner}/${repo}`, detail.renamed), { color: 'yellow' }));
  }
  if (detail.issue_changed !== null) lines.push(field('note', detail.issue_changed, { color: 'yellow' }));
  for (const notice of plan.notices ?? [])
    for (const [index, text] of notice.split('\n').entries())
      lines.push(field(index === 0 ? 'note' : '', text, { color: 'yellow' }));
  for (const check of plan.checks ?? []) {
    const mark = check.passed ? glyphs.tick : glyphs.cross;
    lines.push(
      field(
        'check',
        `${mark} ${check.name}: ${check.detail}`,
        check.passed ? undefined : { color: 'yellow' },
      ),
    );
  }
  if (explanation !== null) lines.push(emptyLine, ...quoted(explanation));
  return lines;
}

export function contextLines(open: OpenRun, { glyphs }: Look): TextLine[] {
  const { context, influences, files_of_context = 0, memories = 0 } = planFacts(open);
  const lines = [heading(`Context used: ${files_of_context} files, ${memories} memories`)];
  if (context === undefined) lines.push(line(span('No context service answered when the plan was made.')));
  for (const { layer, source, title, why, score } of context ?? []) {
    const name = title === source ? source : `${source}  ${title}`;
    lines.push(hanging([span(`${glyphs.dot} `)], span(visibleLine(name), { bold: true })));
    lines.push(
      hanging(
        [span('  ')],
        span(visibleLine(`${layer === 'graph' ? 'graph' : `${layer} memory`}, ${score.toFixed(2)}: `), {
          color: 'gray',
        }),
        span(visibleLine(why)),
      ),
    );
  }
  if (influences !== undefined && influences.length > 0) {
    lines.push(emptyLine, heading('What the plan was influenced by'));
    for (const { kind, source, trusted } of influences) {
      lines.push(
        field(kind, `${source}${trusted ? '' : ' (untrusted)'}`, trusted ? undefined : { color: 'yellow' }),
      );
    }
  }
  return lines;
}
