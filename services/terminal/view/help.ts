import { executable, wasCutOff } from '../input/work.ts';
import { notYetShown } from '../state/decisions.ts';
import { whyOver } from '../state/naming.ts';
import { actionOf, type Dialog, isOpen, needsApproval, type OpenRun, type State } from '../state/state.ts';

/** Keys and what they do, for the last line, the help page and the documentation. */
export type Keys = readonly (readonly [key: string, what: string])[];

export const listKeys: Keys = [
  ['enter', 'open the run'],
  ['/', 'filter by repository, issue, title or status'],
  ['f', 'only some statuses: space marks them'],
  ['i', 'only what waits for you, and back'],
  ['s', 'sort by newest, changed, risk, waiting, repository'],
  ['n', 'plan an issue'],
  ['y', 'copy the identifier of the run'],
  ['escape', 'show all again'],
  ['j k, arrows, wheel', 'move; space and page up or down by a page, g and G to the ends'],
  ['ctrl-l', 'redraw the screen'],
  ['q', 'quit'],
];

export const runKeys: Keys = [
  ['a', 'approve the action that is shown'],
  ['r', 'reject it, with a reason'],
  ['C', 'reject it for the line at the top of the pane, which the reason names'],
  ['A', 'approve the gate: shows its list first, then what you have not seen of it'],
  ['x', 'execute what is approved'],
  ['u', 'undo: shows first what would be taken back'],
  ['c', 'cancel the run; asks first'],
  ['R', 'resume what a crash or a stop cut off'],
  ['y', 'copy the place at the top of the pane, else the address or the run'],
  ['e', 'open what the pane shows in $VISUAL or $EDITOR, at that line'],
  ['o', 'open the issue or the pull request in the browser'],
  ['enter', 'the pane on the whole screen, and back'],
  ['j k, arrows', 'the next action; on the whole screen: scroll'],
  ['tab, shift-tab', 'the next action, also on the whole screen'],
  ['space, b, wheel', 'scroll the pane by a page; J and K by a line, g and G to the ends'],
  ['] [', 'the next file, the one before'],
  ['} {', 'the next hunk, the one before'],
  ['z Z', 'fold the file, fold or unfold all'],
  ['v', 'both sides beside each other, or one below the other'],
  ['t', 'the tree of files, where there is room'],
  ['/ n N', 'search, the next place, the one before'],
  ['escape, q', 'back'],
];

/** What matters now, the most important first. */
export function keyHints(state: State): Keys {
  const { open, dialog, link, runs } = state;
  if (link.state === 'trouble' && open === null && dialog === null && runs.known.size === 0)
    return [['q', 'quit']];
  if (dialog !== null) {
    return Object.entries(dialogHints(open, dialog));
  }
  if (open === null) {
    const hints = { enter: 'open', '/': 'filter', s: 'sort', f: 'status', n: 'plan', '?': 'help', q: 'quit' };
    return Object.entries(hints);
  }
  return [...decisionHints(state), ...paneHints(state), ['?', 'help'], ['esc', 'back']];
}

function dialogHints(open: OpenRun | null, dialog: Dialog): Readonly<Record<string, string>> {
  switch (dialog.kind) {
    case 'question':
      return {};
    case 'gate': {
      const all = notYetShown(open!, dialog.gate).length === 0;
      return { enter: all ? 'approve' : 'show the next', tab: 'other gate', esc: 'close' };
    }
    case 'execute':
      return { enter: 'execute', 'j k': 'choose', esc: 'close' };
    case 'undo':
      return { y: 'take back', n: 'leave it' };
    case 'quit':
      return { y: 'leave', n: 'stay' };
    case 'cancel':
      return { y: 'cancel the run', n: 'leave it' };
    case 'sign':
      return { y: 'sign and approve', n: 'leave it' };
    case 'statuses':
      return { space: 'mark', a: 'all', enter: 'done' };
    case 'help':
      return { space: 'scroll', esc: 'close' };
  }
}

function decisionHints({ open }: State): Keys {
  if (open === null) return [];
  if (open.review !== null) return Object.entries({ enter: 'next', space: 'scroll' });
  const action = actionOf(open, open.selected);
  const hints: [string, string][] = [];
  const over = whyOver(open.detail) !== null;
  if (action !== null && isOpen(action) && !over) {
    if (action.approval !== 'approved' || needsApproval(action)) hints.push(['a', 'approve']);
    if (action.approval !== 'rejected') hints.push(['r', 'reject']);
  }
  const waits = open.detail?.actions.some(needsApproval);
  if (waits === true && !over) hints.push(['A', 'gate']);
  if (executable(open).length > 0 && open.detail?.status !== 'executing' && !over)
    hints.push(['x', 'execute']);
  if (open.detail?.status === 'executing' || open.detail?.status === 'planning') hints.push(['c', 'cancel']);
  if (wasCutOff(open)) hints.push(['R', 'resume']);
  if (open.detail?.execution != null && open.detail.status !== 'undone') hints.push(['u', 'undo']);
  return hints;
}

function paneHints({ open }: State): Keys {
  if (open === null) return [];
  const zoom: Keys = open.review === null ? [['enter', open.zoomed ? 'list' : 'whole screen']] : [];
  if (actionOf(open, open.selected)?.kind !== 'apply_patch') return [...zoom, ['/', 'search']];
  return [...zoom, [']', 'file'], ['/', 'search'], ['v', 'sides'], ['z', 'fold']];
}
