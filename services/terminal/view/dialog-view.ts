import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approvalWord } from '#kit/contracts/approval-word.ts';
import { anywayWord } from '../input/deciding.ts';
import { changesCode, takesBack } from '../input/dialog-input.ts';
import { presentStatuses } from '../input/list-input.ts';
import { geometryOf } from '../layout/geometry.ts';
import { statusWord } from '../layout/marks.ts';
import {
  besideOrBelow,
  emptyLine,
  hanging,
  heading,
  key,
  line,
  type TextLine,
  wrapLine,
} from '../layout/text-lines.ts';
import { cutRow, fitRow, type Row, rowWidth, span, wrapRow } from '../screen/cell.ts';
import type { Glyphs } from '../screen/glyphs.ts';
import { named, unapprovedNeeds } from '../state/naming.ts';
import {
  actionOf,
  type Dialog,
  type OpenRun,
  type Place,
  type Question,
  type State,
} from '../state/state.ts';
import { gateLines } from './gate-view.ts';
import { type Keys, listKeys, runKeys } from './help.ts';

type Looks = { readonly glyphs: Glyphs };

/** A dialog that takes the body of the screen. */
export function dialogRows(
  state: State,
  dialog: Exclude<Dialog, { kind: 'question' }>,
  looks: Looks,
): readonly Row[] {
  const { columns, bodyRows } = geometryOf(state);
  const rows = contentOf(state, dialog, looks).flatMap((one) => wrapLine(one, columns - 1));
  const top = 'top' in dialog ? Math.min(dialog.top, Math.max(0, rows.length - bodyRows)) : 0;
  const shown = rows.slice(top, top + bodyRows);
  const below = rows.length - top - shown.length;
  if (below === 0 || bodyRows < 4 || !('top' in dialog)) return shown;
  return [...shown.slice(0, -1), [span(`${below + 1} more lines below: space`, { color: 'yellow' })]];
}

function contentOf(state: State, dialog: Exclude<Dialog, { kind: 'question' }>, looks: Looks): TextLine[] {
  switch (dialog.kind) {
    case 'help':
      return helpRows(state);
    case 'gate':
      return state.open === null
        ? []
        : gateLines(state.open, dialog.gate, { ...looks, columns: state.size.columns });
    case 'execute':
      return executeRows(state, dialog, looks);
    case 'undo':
      return undoRows(dialog, looks, state.size.columns);
    case 'statuses':
      return statusRows(state, dialog, looks);
    case 'sign':
      return state.open === null ? [] : signRows(state.open, dialog);
    case 'cancel':
      return cancelRows();
    case 'quit':
      return quitRows();
  }
}

function helpRows({ open }: State): TextLine[] {
  const keys: Keys = open === null ? listKeys : runKeys;
  const width = Math.max(...keys.map(([key]) => key.length));
  return [
    heading(open === null ? 'The list of runs' : 'A run'),
    ...keys.map(([key, what]) =>
      hanging([span(`  ${key.padEnd(width)}  `, { color: 'cyan', bold: true })], span(what)),
    ),
    emptyLine,
    line(span('An action is approved with the digest of what was on the screen.', { color: 'gray' })),
    line(
      span(
        `What was not on the screen is shown first, to its end. Critical ones take the word '${approvalWord}'.`,
        { color: 'gray' },
      ),
    ),
  ];
}

function executeRows(
  state: State,
  { places, at, actions }: Dialog & { kind: 'execute' },
  { glyphs }: Looks,
): TextLine[] {
  const { open } = state;
  if (open === null) return [];
  const rows = [heading('Execute, exactly as approved'), emptyLine];
  for (const action of open.detail?.actions.filter(({ action_id }) => actions.includes(action_id)) ?? []) {
    const { ordinal, kind, title, state: stands } = action;
    const again = stands === 'failed' || stands === 'unknown';
    rows.push(
      hanging(
        [span(`  ${String(ordinal).padStart(2)} ${kind.padEnd(17)} `)],
        span(again ? `again, it is ${stands}  ` : '', { color: 'yellow' }),
        span(title === kind ? '' : visibleLine(glyphs.plain(title))),
      ),
    );
    for (const need of unapprovedNeeds(open, action)) {
      const text = `will not run: it builds on ${named(need)}, which is not approved`;
      rows.push(hanging([span('       ')], span(text, { color: 'yellow' })));
    }
  }
  rows.push(emptyLine);
  if (!changesCode(state))
    return [...rows, line(span('It only comments: nothing is delivered to a checkout.'))];
  rows.push(line(span('Which checkout gets the branch?')));
  for (const [index, name] of [...places.map(placeName), ...otherPlaces].entries())
    rows.push(choosable(visibleLine(name), index === at, glyphs));
  return rows;
}

function statusRows({ runs }: State, { at }: Dialog & { kind: 'statuses' }, { glyphs }: Looks): TextLine[] {
  const counts = Map.groupBy(runs.known.values(), ({ status }) => status as string);
  return [
    line(span('Only runs of these statuses', { bold: true }), span('; none marked: all of them')),
    emptyLine,
    ...presentStatuses(runs).map((status, index) => {
      const mark = runs.statuses.has(status) ? '[x]' : '[ ]';
      const count = span(`  ${counts.get(status)?.length ?? 0}`, { color: 'gray' });
      return choosable(`${mark} ${statusWord(status)}`, index === at, glyphs, count);
    }),
  ];
}

function choosable(name: string, chosen: boolean, glyphs: Glyphs, ...more: Row): TextLine {
  return hanging(
    [span(chosen ? `${glyphs.pointer} ` : '  ', { color: 'cyan' })],
    span(name, chosen ? { bold: true, inverse: true } : undefined),
    ...more,
  );
}

/** The last line of a question: what each key does. */
function choice(yes: string, no: string): TextLine {
  return line(key('y'), span(` ${yes}    `), key('n'), span(' or '), key('escape'), span(` ${no}`));
}

function signRows(open: OpenRun, { decisions, text }: Dialog & { kind: 'sign' }): TextLine[] {
  const actions = decisions.flatMap(({ action_id }) => actionOf(open, action_id) ?? []);
  const ask = 'Your SSH key signs the digests that were on your screen; it may ask for its passphrase. It is';
  const key = 'signing.key of core.json, else user.signingkey of git.';
  return [
    heading(`Sign the approval of ${actions.map(named).join(', ')}?`),
    emptyLine,
    hanging([span('  ')], span(visibleLine(text), { color: 'yellow' })),
    hanging([span('  ')], span(`${ask} ${key}`)),
    emptyLine,
    choice('signs and approves', 'leaves it as it is'),
  ];
}

function cancelRows(): TextLine[] {
  const text =
    'What is running stops, and nothing of it can be executed any more. What was done stays; u undoes it.';
  return [
    heading('Cancel the run?'),
    emptyLine,
    hanging([span('  ')], span(text)),
    emptyLine,
    choice('cancels the run', 'leaves it as it is'),
  ];
}

/** Behind the places that are known. */
const otherPlaces = ['another folder, by its path', 'none: the branch reaches the forge alone'];

function placeName(place: Place): string {
  return 'name' in place ? place.name : `${place.folder}  ${place.about}`;
}

function quitRows(): TextLine[] {
  return [
    heading('Leave, and cut the execution off?'),
    emptyLine,
    hanging(
      [span('  ')],
      span('This program executes the run itself. Press R to resume later. '),
      span('This question closes when the execution ends.'),
    ),
    emptyLine,
    choice('leaves', 'stays'),
  ];
}

function undoRows(dialog: Dialog & { kind: 'undo' }, { glyphs }: Looks, columns: number): TextLine[] {
  if (!takesBack(dialog)) return [line(span('There is nothing to take back.'))];
  const rows = [heading('Take back what the run did?'), emptyLine];
  for (const { effect, kind, message } of dialog.steps) {
    if (effect === 'nothing') continue;
    const style = effect === 'undo' ? undefined : ({ color: 'yellow' } as const);
    const word = effect === 'undo' ? 'take back' : 'keep';
    const head = [
      span(`  ${glyphs.dot} `, { color: 'gray' }),
      span(word.padEnd(11), style),
      span(visibleLine(kind).padEnd(18)),
    ];
    rows.push(...besideOrBelow(head, [span(visibleLine(message))], columns));
  }
  return [...rows, emptyLine, choice('takes it back', 'leaves it as it is')];
}

/** Columns in which an answer can be read. */
const leastAnswer = 20;

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
    Math.max(Math.floor(room * 0.7), room - leastAnswer),
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
