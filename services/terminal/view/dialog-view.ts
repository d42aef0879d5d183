import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approverText, type ProposedAction, signedBy } from '#kit/contracts/action.ts';
import { approvalWord } from '#kit/contracts/approval-word.ts';
import { gateEffects } from '#kit/contracts/vocabulary.ts';
import { anywayWord } from '../input/deciding.ts';
import { changesCode, takesBack } from '../input/dialog-input.ts';
import { presentStatuses } from '../input/list-input.ts';
import { geometryOf } from '../layout/geometry.ts';
import { riskStyle, statusWord } from '../layout/marks.ts';
import { cutRow, fitRow, type Row, rowWidth, type Span, span, wrapRow } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { gateActions, readiness } from '../state/decisions.ts';
import { named, unapprovedNeeds } from '../state/naming.ts';
import type { Dialog, OpenRun, Place, Question, State } from '../state/state.ts';
import { type Keys, listKeys, runKeys } from './help.ts';

type Looks = { readonly glyphs: Glyphs };

/** A dialog that takes the body of the screen. */
export function dialogRows(
  state: State,
  dialog: Exclude<Dialog, { kind: 'question' }>,
  looks: Looks,
): readonly Row[] {
  const { columns, bodyRows } = geometryOf(state);
  const rows = contentOf(state, dialog, looks).flatMap((row) => wrapRow(row, Math.max(1, columns - 1), true));
  const top = 'top' in dialog ? Math.min(dialog.top, Math.max(0, rows.length - bodyRows)) : 0;
  const shown = rows.slice(top, top + bodyRows);
  const below = rows.length - top - shown.length;
  if (below === 0 || bodyRows < 4 || !('top' in dialog)) return shown;
  return [...shown.slice(0, -1), [span(`${below + 1} more lines below: space`, { color: 'yellow' })]];
}

function contentOf(state: State, dialog: Exclude<Dialog, { kind: 'question' }>, looks: Looks): Row[] {
  switch (dialog.kind) {
    case 'help':
      return helpRows(state);
    case 'gate':
      return state.open === null ? [] : gateRows(state.open, dialog, looks);
    case 'execute':
      return executeRows(state, dialog, looks);
    case 'undo':
      return undoRows(dialog, looks);
    case 'statuses':
      return statusRows(state, dialog, looks);
    case 'cancel':
      return cancelRows();
    case 'quit':
      return quitRows();
  }
}

function helpRows({ open }: State): Row[] {
  const keys: Keys = open === null ? listKeys : runKeys;
  const width = Math.max(...keys.map(([key]) => key.length));
  return [
    [span(open === null ? 'The list of runs' : 'A run', { bold: true })],
    ...keys.map(
      ([key, what]): Row => [span(`  ${key.padEnd(width)}  `, { color: 'cyan', bold: true }), span(what)],
    ),
    [],
    [span('An action is approved with the digest of what was on the screen.', { color: 'gray' })],
    [
      span(
        `What was not on the screen is shown first, to its end. Critical ones take the word '${approvalWord}'.`,
        { color: 'gray' },
      ),
    ],
  ];
}

function gateRows(open: OpenRun, { gate }: Dialog & { kind: 'gate' }, looks: Looks): Row[] {
  const actions = gateActions(open, gate);
  const left = actions.filter((action) => readiness(open, action) !== 'ready');
  const rows: Row[] = [
    [span(`Approve the gate ${gate}`, { bold: true }), span(`: ${gateEffects[gate]}`)],
    [],
    ...(gate === 'publish' ? validationRows(open) : []),
  ];
  for (const action of open.detail?.actions ?? []) {
    if (actions.includes(action)) rows.push(...gateAction(open, action, looks));
    else if (action.gate === gate) rows.push(decidedAction(action));
  }
  rows.push([]);
  if (actions.length === 0) return [...rows, [span('Nothing of this gate waits for an approval.')]];
  const needed = new Set(actions.flatMap((action) => unapprovedNeeds(open, action)));
  for (const need of needed) {
    if (need.gate === gate && need.approval !== 'rejected') continue;
    rows.push([
      span(
        `Some of it builds on ${named(need)}, which is ${need.approval === 'rejected' ? 'rejected' : 'not approved'}.`,
        {
          color: 'yellow',
        },
      ),
    ]);
  }
  if (left.length === 0) {
    rows.push([span('All of it was on your screen. '), key('enter'), span(' approves.')]);
  } else {
    const count = left.length === 1 ? 'One has' : `${left.length} have`;
    rows.push([
      span(`${count} not been on your screen${left.length === actions.length ? '' : ' yet'}. `),
      key('enter'),
      span(left.length === 1 ? ' shows it.' : ' shows the first of them.'),
    ]);
  }
  return rows;
}

function gateAction(open: OpenRun, action: ProposedAction, { glyphs }: Looks): Row[] {
  const { ordinal, kind, risk, risk_score, title } = action;
  const state = { ready: 'seen', not_seen: 'not seen', changed: 'changed', not_whole: 'not to its end' };
  const ready = readiness(open, action);
  const row: Row = [
    span(`  ${String(ordinal).padStart(2)} ${kind.padEnd(17)} `),
    span(`${risk} ${risk_score}`.padEnd(12), riskStyle(risk)),
    span(state[ready].padEnd(15), ready === 'ready' ? { color: 'green' } : { color: 'yellow' }),
    span(title === kind ? '' : visibleLine(glyphs.plain(title))),
  ];
  const { approval_progress: progress } = action;
  const agreed = progress === undefined ? '' : `${progress.text}; needs ${progress.needs}`;
  return [
    row,
    ...(progress === undefined
      ? []
      : [[span(`       ${visibleLine(agreed)}`, { color: 'cyan' })] satisfies Row]),
    ...action.risk_reasons.map(
      (reason): Row => [span(`       ${glyphs.dot} ${visibleLine(reason)}`, { color: 'gray' })],
    ),
  ];
}

/** What is decided already, so that nobody looks for it. */
function decidedAction(action: ProposedAction): Row {
  const { approval, decision, state } = action;
  const what = decision === null ? state : `${approval} by ${approverText(decision)}${signedBy(decision)}`;
  const reason = decision?.reason ? `: ${decision.reason}` : '';
  return [
    span(`  ${String(action.ordinal).padStart(2)} ${action.kind.padEnd(17)} `, { color: 'gray' }),
    span(visibleLine(`${what}${reason}`), approval === 'rejected' ? { color: 'red' } : { color: 'gray' }),
  ];
}

/** Publishing is decided with the validation's result in sight. */
function validationRows(open: OpenRun): Row[] {
  const validation = open.detail?.actions.find(({ kind }) => kind === 'run_validation');
  if (validation === undefined)
    return [[span('  No validation belongs to this run.', { color: 'yellow' })], []];
  const { state, outcome } = validation;
  const text =
    outcome === null ? `it is ${state}: not run yet` : visibleLine(outcome.message.split('\n')[0]!);
  const style =
    state === 'succeeded' ? ({ color: 'green' } as const) : ({ color: 'yellow', bold: true } as const);
  return [[span('  Validation: '), span(text, style)], []];
}

function executeRows(
  state: State,
  { places, at, actions }: Dialog & { kind: 'execute' },
  { glyphs }: Looks,
): Row[] {
  const { open } = state;
  if (open === null) return [];
  const rows: Row[] = [[span('Execute, exactly as approved', { bold: true })], []];
  for (const action of open.detail?.actions.filter(({ action_id }) => actions.includes(action_id)) ?? []) {
    const { ordinal, kind, title, state: stands } = action;
    rows.push([
      span(`  ${String(ordinal).padStart(2)} ${kind.padEnd(17)} `),
      ...(stands === 'failed' || stands === 'unknown'
        ? [span(`again, it is ${stands}  `, { color: 'yellow' })]
        : []),
      span(title === kind ? '' : visibleLine(glyphs.plain(title))),
    ]);
    for (const need of unapprovedNeeds(open, action)) {
      const text = `       will not run: it builds on ${named(need)}, which is not approved`;
      rows.push([span(text, { color: 'yellow' })]);
    }
  }
  rows.push([]);
  if (!changesCode(state)) return [...rows, [span('It only comments: nothing is delivered to a checkout.')]];
  rows.push([span('Which checkout gets the branch?')]);
  for (const [index, name] of [...places.map(placeName), 'another folder, by its path'].entries()) {
    const chosen = index === at;
    rows.push([
      span(chosen ? `${glyphs.pointer} ` : '  ', { color: 'cyan' }),
      span(visibleLine(name), chosen ? { bold: true, inverse: true } : undefined),
    ]);
  }
  return rows;
}

function statusRows({ runs }: State, { at }: Dialog & { kind: 'statuses' }, { glyphs }: Looks): Row[] {
  const counts = Map.groupBy(runs.known.values(), ({ status }) => status as string);
  return [
    [span('Only runs of these statuses', { bold: true }), span('; none marked: all of them')],
    [],
    ...presentStatuses(runs).map((status, index): Row => {
      const chosen = index === at;
      const mark = runs.statuses.has(status) ? '[x]' : '[ ]';
      return [
        span(chosen ? `${glyphs.pointer} ` : '  ', { color: 'cyan' }),
        span(`${mark} ${statusWord(status)}`, chosen ? { bold: true, inverse: true } : undefined),
        span(`  ${counts.get(status)?.length ?? 0}`, { color: 'gray' }),
      ];
    }),
  ];
}

function key(name: string): Span {
  return span(name, { color: 'cyan', bold: true });
}

function choice(yes: string, no: string): Row {
  return [key('y'), span(` ${yes}, `), key('escape'), span(` ${no}.`)];
}

function cancelRows(): Row[] {
  return [
    [span('Cancel the run', { bold: true })],
    [],
    [
      span(
        '  What is running stops, and nothing of it can be executed any more. What was done stays; u undoes it.',
      ),
    ],
    [],
    choice('cancels it', 'leaves it'),
  ];
}

function placeName(place: Place): string {
  return 'name' in place ? place.name : `${place.folder}  ${place.about}`;
}

function quitRows(): Row[] {
  return [
    [span('This program executes the run itself; leaving cuts that off in the middle', { bold: true })],
    [],
    [span('  Press R to resume later. This prompt closes when execution ends.')],
    [],
    choice('leaves', 'stays'),
  ];
}

function undoRows(dialog: Dialog & { kind: 'undo' }, { glyphs }: Looks): Row[] {
  const rows: Row[] = [[span('Undo would', { bold: true })], []];
  for (const { effect, kind, message } of dialog.steps) {
    if (effect === 'nothing') continue;
    const style = effect === 'undo' ? undefined : ({ color: 'yellow' } as const);
    const word = effect === 'undo' ? 'take back' : 'keep';
    rows.push([
      span(`  ${glyphs.dot} `, { color: 'gray' }),
      span(word.padEnd(11), style),
      span(visibleLine(kind).padEnd(18)),
      span(visibleLine(message)),
    ]);
  }
  if (!takesBack(dialog)) return [[span('There is nothing to take back.')]];
  return [...rows, [], choice('takes it back', 'leaves it')];
}

/** The line in which a question is answered; long answers scroll to their end. */
export function questionRow(
  { question, text }: Dialog & { kind: 'question' },
  columns: number,
  glyphs: Glyphs,
): { readonly row: Row; readonly column: number } {
  const prompt = promptOf(question);
  const room = Math.max(4, columns - 2);
  const asked = cutRow(
    [span(`${prompt} `, { color: 'cyan', bold: true })],
    Math.floor(room * 0.7),
    glyphs.ellipsis,
  );
  const left = room - rowWidth(asked);
  const lines = wrapRow([span(visibleLine(text))], Math.max(1, left - 1));
  const shown = lines.at(-1) ?? [];
  return {
    row: fitRow([...asked, ...shown], columns - 1, glyphs.ellipsis),
    column: rowWidth(asked) + rowWidth(shown),
  };
}

function promptOf(question: Question): string {
  switch (question.for) {
    case 'filter':
      return 'filter:';
    case 'search':
      return 'search:';
    case 'plan':
      return 'plan issue (12, owner/repo#12 or its address):';
    case 'path':
      return 'folder of your checkout:';
    case 'reason':
      return 'why is it rejected?';
    case 'word':
      return `type '${approvalWord}' for ${visibleLine(question.what)}:`;
    case 'anyway':
      return `type '${anywayWord}' to approve all the same:`;
  }
}
