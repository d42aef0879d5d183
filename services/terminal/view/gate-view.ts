import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approverText, type ProposedAction, signedBy } from '#kit/contracts/action.ts';
import { gateEffects } from '#kit/contracts/vocabulary.ts';
import { riskStyle } from '../layout/marks.ts';
import { patchAuthorLines } from '../layout/payload.ts';
import {
  belowIndent,
  besideOrBelow,
  emptyLine,
  hanging,
  key,
  line,
  type TextLine,
} from '../layout/text-lines.ts';
import { type Row, type Style, span } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { gateActions, readiness } from '../state/decisions.ts';
import { named, unapprovedNeeds } from '../state/naming.ts';
import type { Gate, OpenRun } from '../state/state.ts';

interface GateLooks {
  readonly glyphs: Glyphs;
  /** Of the screen. */
  readonly columns: number;
}

/** The list of a gate before it is approved. */
export function gateLines(open: OpenRun, gate: Gate, looks: GateLooks): TextLine[] {
  const actions = gateActions(open, gate);
  const left = actions.filter((action) => readiness(open, action) !== 'ready');
  const rows: TextLine[] = [
    line(span(`Approve the gate ${gate}`, { bold: true }), span(`: ${gateEffects[gate]}`)),
    ...patchAuthorLines(open, '  '),
    emptyLine,
    ...(gate === 'publish' ? validationLines(open) : []),
  ];
  for (const action of open.detail?.actions ?? []) {
    if (actions.includes(action)) rows.push(...gateAction(open, action, looks));
    else if (action.gate === gate) rows.push(decidedAction(action));
  }
  rows.push(emptyLine);
  if (actions.length === 0) return [...rows, line(span('Nothing of this gate waits for an approval.'))];
  const needed = new Set(actions.flatMap((action) => unapprovedNeeds(open, action)));
  for (const need of needed) {
    if (need.gate === gate && need.approval !== 'rejected') continue;
    const how = need.approval === 'rejected' ? 'rejected' : 'not approved';
    rows.push(line(span(`Some of it builds on ${named(need)}, which is ${how}.`, { color: 'yellow' })));
  }
  if (left.length === 0) {
    rows.push(line(span('All of it was on your screen. '), key('enter'), span(' approves.')));
  } else {
    const count = left.length === 1 ? 'One has' : `${left.length} have`;
    rows.push(
      line(
        span(`${count} not been on your screen${left.length === actions.length ? '' : ' yet'}. `),
        key('enter'),
        span(left.length === 1 ? ' shows it.' : ' shows the first of them.'),
      ),
    );
  }
  return rows;
}

function gateAction(open: OpenRun, action: ProposedAction, { glyphs, columns }: GateLooks): TextLine[] {
  const { ordinal, kind, risk, risk_score, title } = action;
  const state = { ready: 'seen', not_seen: 'not seen', changed: 'changed', not_whole: 'not to its end' };
  const ready = readiness(open, action);
  const head: Row = [
    span(`  ${String(ordinal).padStart(2)} ${kind.padEnd(17)} `),
    span(`${risk} ${risk_score}`.padEnd(12), riskStyle(risk)),
    span(state[ready].padEnd(15), ready === 'ready' ? { color: 'green' } : { color: 'yellow' }),
  ];
  const about = title === kind ? [] : [span(visibleLine(glyphs.plain(title)))];
  const { approval_progress: progress } = action;
  const below = (text: string, style: Style) => hanging([span(belowIndent)], span(visibleLine(text), style));
  return [
    ...besideOrBelow(head, about, columns),
    ...(progress === undefined
      ? []
      : [below(`${progress.text}; needs ${progress.needs}`, { color: 'cyan' })]),
    ...action.risk_reasons.map((reason) =>
      hanging(
        [span(`${belowIndent}${glyphs.dot} `, { color: 'gray' })],
        span(visibleLine(reason), { color: 'gray' }),
      ),
    ),
  ];
}

/** What is decided already, so that nobody looks for it. */
function decidedAction(action: ProposedAction): TextLine {
  const { approval, decision, state } = action;
  const what = decision === null ? state : `${approval} by ${approverText(decision)}${signedBy(decision)}`;
  const reason = decision?.reason ? `: ${decision.reason}` : '';
  return hanging(
    [span(`  ${String(action.ordinal).padStart(2)} ${action.kind.padEnd(17)} `, { color: 'gray' })],
    span(visibleLine(`${what}${reason}`), { color: approval === 'rejected' ? 'red' : 'gray' }),
  );
}

/** Publishing is decided with the validation's result in sight. */
function validationLines(open: OpenRun): TextLine[] {
  const validation = open.detail?.actions.find(({ kind }) => kind === 'run_validation');
  if (validation === undefined)
    return [line(span('  No validation belongs to this run.', { color: 'yellow' })), emptyLine];
  const { state, outcome } = validation;
  const text =
    outcome === null ? `it is ${state}: not run yet` : visibleLine(outcome.message.split('\n')[0]!);
  const style =
    state === 'succeeded' ? ({ color: 'green' } as const) : ({ color: 'yellow', bold: true } as const);
  return [hanging([span('  Validation: ')], span(text, style)), emptyLine];
}
