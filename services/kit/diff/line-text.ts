import { numbered, standInsOf, unmistakableName, unmistakableText } from '../cli/look-alikes.ts';
import { visibleLine, visibleLines } from '../cli/terminal-text.ts';
import { isTextLine, lineKinds, type Patch } from './patch.ts';

/** A place in a line where something stands for what could not be seen. */
export interface Mark {
  readonly at: number;
  readonly length: number;
  /** A tab, a space at the end of the line, an escape such as `\x1b`, or a tab that has no sign. */
  readonly kind: 'tab' | 'space' | 'escape' | 'gap';
}

export interface LaidText {
  /** Tabs are spaces up to the next stop here: what marks put in their places takes as many columns. */
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** The signs of tabs and of spaces at a line's end; where a changed line has them itself they are shown by their numbers. */
export const spaceSigns = { tab: '⇥', space: '·' } as const;

const tabStop = 4;
const blanks = '\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000';
/** Bytes that are no text have come as halves of pairs; see `textOfBytes`. */
const brokenBytes = '\udc80-\udcff';
const special = new RegExp(`([\t${brokenBytes}])`, 'u');
const specialOfChanged = new RegExp(`([\t${blanks}${brokenBytes}${spaceSigns.tab}])`, 'u');

/** What a line of a patch says, without its sign, safe to show. */
export function lineText(patch: Patch, index: number): string {
  const raw = rawText(patch, index);
  return /^[\x20-\x7e\t]*$/.test(raw) ? withTabStops(raw) : laidLine(patch, index).text;
}

function withTabStops(line: string): string {
  if (!line.includes('\t')) return line;
  let text = '';
  for (const [index, part] of line.split('\t').entries()) {
    if (index > 0) text += ' '.repeat(tabStop - (text.length % tabStop));
    text += part;
  }
  return text;
}

export function laidLine(patch: Patch, index: number): LaidText {
  return laidText(rawText(patch, index), isChanged(patch, index));
}

export function isChanged({ kinds }: Patch, index: number): boolean {
  return kinds[index] === lineKinds.added || kinds[index] === lineKinds.removed;
}

/** One line, tabs as spaces up to the next stop. */
export function safeText(line: string): string {
  return special.test(line) ? laidText(line, false).text : visibleLines(line.replaceAll('\n', ' '));
}

/** @param exact every tab and every space at the end is marked, and letters and signs that look like others are numbered */
export function laidText(line: string, exact: boolean): LaidText {
  const raw = line.replaceAll('\n', ' ');
  const end = exact ? endOfText(raw) : raw.length;
  const marks: Mark[] = [];
  let text = '';
  const standIn = (shown: string): void => {
    marks.push({ at: text.length, length: shown.length, kind: 'escape' });
    text += shown;
  };
  const tab = (): void => {
    const length = tabStop - (text.length % tabStop);
    marks.push({ at: text.length, length, kind: exact ? 'tab' : 'gap' });
    text += ' '.repeat(length);
  };
  const sign = (character: string): void => {
    if (character === '\t') tab();
    else if (/[\udc80-\udcff]/.test(character)) standIn(`<${hex(character.charCodeAt(0) - 0xdc00)}>`);
    else standIn(numbered(character));
  };
  const plain = (piece: string): void => {
    const visible = visibleLines(piece);
    const shown = exact ? unmistakableText(visible) : visible;
    // A line may have more of them than a call may have arguments.
    for (const { at, length } of shown === piece ? [] : standInsOf(piece, shown))
      marks.push({ at: at + text.length, length, kind: 'escape' });
    text += shown;
  };

  for (const [index, piece] of raw
    .slice(0, end)
    .split(exact ? specialOfChanged : special)
    .entries()) {
    if (index % 2 === 1) sign(piece);
    else if (piece !== '') plain(piece);
  }
  for (const character of raw.slice(end)) {
    if (character !== ' ') {
      if (character === '\r') standIn('\\r');
      else sign(character);
      continue;
    }
    marks.push({ at: text.length, length: 1, kind: 'space' });
    text += ' ';
  }
  return { text, marks };
}

/** What a line of a patch says, without its sign, as it came. */
export function rawText({ lines, kinds }: Patch, index: number): string {
  const line = lines[index]!;
  return isTextLine(kinds[index]!) ? line.slice(1) : line;
}

/** Where the white space at the end of a line begins, line end included. */
function endOfText(line: string): number {
  let end = line.endsWith('\r') ? line.length - 1 : line.length;
  while (end > 0 && ` \t${spaceSigns.space}`.includes(line[end - 1]!)) end--;
  return end;
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

/** Spaces that a page or a reader takes for one, or for none. */
const oddSpaces = new RegExp(`[${blanks}]|(?<=^|[ /]) | (?=$|/)`, 'gu');

/** The name of a file or folder: no two names look the same. */
export function shownPath(path: string): string {
  const shown = path.replaceAll('\\', numbered).replace(oddSpaces, numbered);
  return unmistakableName(visibleLine(shown));
}
