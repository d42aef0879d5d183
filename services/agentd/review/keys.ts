import { type Html, html } from './html.ts';

/** The terminal interface's keys, as far as a page has what they do. */

type Keys = readonly (readonly [key: string, what: string])[];

const everywhere: Keys = [
  ['?', 'this list'],
  ['escape', 'close it; on a run: back to the list'],
];

const listKeys: Keys = [
  ['j k', 'the next run, the one before'],
  ['enter', 'open it'],
  ['/', 'search'],
  ['s', 'select the run, or not'],
  ['b', 'decide about the selected runs'],
  ['n', 'plan an issue'],
  ['g G', 'to the ends'],
];

const runKeys: Keys = [
  ['j k', 'the next action, the one before'],
  ['a', 'approve the action: shows its button first, then presses it'],
  ['r', 'reject it, with a reason'],
  ['A', 'approve the gate: shows its button first, then presses it'],
  ['x', 'execute what is approved'],
  ['u', 'undo: shows first what would be taken back'],
  ['p', 'plan again, with a note'],
  ['c', 'cancel the run'],
  ['R', 'resume what a crash or a stop cut off'],
  ['o', 'open the issue or the pull request'],
  ['] [', 'the next file of the change, the one before'],
  ['} {', 'the next hunk, the one before'],
  ['J K', 'the next line, the one before; within the change also j and k'],
  ['/', 'search in the change'],
  ['n N', 'the next line that has the text, the one before; enter and shift enter too'],
  ['C', 'comment on the line, for the reason of a rejection or a note to the next plan'],
  ['z Z', 'fold the file, fold or unfold all'],
  ['m', 'mark the file as viewed'],
  ['v', 'both sides beside each other, or one below the other'],
  ['w', 'wrap lines'],
  ['t', 'the tree of files'],
  ['1 to 6', 'the tabs'],
  ['q', 'back to the list'],
];

export function keysDialog(kind: 'list' | 'run' | 'other'): Html {
  const keys = [...(kind === 'list' ? listKeys : kind === 'run' ? runKeys : []), ...everywhere];
  return html`<dialog id="keys" aria-labelledby="keys-title">
<h2 id="keys-title" tabindex="-1" autofocus>Keys</h2>
<dl class="keys">${keys.map(
    ([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`,
  )}</dl>
<form method="dialog"><button>Close</button></form>
</dialog>`;
}
