import type { SyntaxPiece } from '#kit/diff/highlight.ts';
import { isChanged, laidText, type Mark, rawText } from '#kit/diff/line-text.ts';
import type { Patch } from '#kit/diff/patch.ts';
import type { WordPiece } from '#kit/diff/word-differences.ts';
import { type Html, html } from '../html.ts';

/** Characters of a line that are shown until all of it is asked for: machines write lines by the megabyte. */
export const maxShownCharacters = 2_000;

export interface LineLooks {
  /** Both cover the shown text of the line from its beginning; null where it has none. */
  readonly syntax: readonly SyntaxPiece[] | null;
  readonly words: readonly WordPiece[] | null;
  /** All of it, however long. */
  readonly whole: boolean;
}

/** The text that is compared by words, as it is shown. */
export function shownText(patch: Patch, line: number): string {
  return laidText(rawText(patch, line), isChanged(patch, line)).text;
}

export function isCut(patch: Patch, line: number): boolean {
  return rawText(patch, line).length > maxShownCharacters;
}

/**
 * A line's text in colours. A tab is a tab, with a sign where the line is changed; `escape` are those in the place of what could not
 * be seen. Its text without markup, escapes read back, is the line.
 */
export function lineHtml(patch: Patch, line: number, { syntax, words, whole }: LineLooks): Html {
  const raw = rawText(patch, line);
  const isWhole = whole || raw.length <= maxShownCharacters;
  const { text, marks } = laidText(isWhole ? raw : raw.slice(0, cutAt(raw)), isChanged(patch, line));
  const kinds = new Ranges(
    (syntax ?? []).map(({ text, kind }) => [text.length, kind === null ? '' : `hl-${kind}`]),
  );
  const differing = new Ranges(
    (words ?? []).map(({ text, differs }) => [text.length, differs ? 'word' : '']),
  );
  const parts: Html[] = [];
  let at = 0;
  const plainUpTo = (end: number): void => {
    while (at < end) {
      const to = Math.min(end, kinds.end(at), differing.end(at));
      parts.push(piece(text.slice(at, to), [kinds.at(at), differing.at(at)]));
      at = to;
    }
  };
  for (const mark of marks) {
    // A space where the line is cut is not at its end.
    if (mark.at < at || (mark.kind === 'space' && !isWhole)) continue;
    plainUpTo(mark.at);
    parts.push(signOf(mark, text, differing.at(at)));
    at = mark.at + mark.length;
  }
  plainUpTo(text.length);
  return html`${parts}`;
}

/** Not between the halves of a character. */
function cutAt(raw: string): number {
  return /[\ud800-\udbff]/.test(raw[maxShownCharacters - 1]!) ? maxShownCharacters - 1 : maxShownCharacters;
}

function signOf({ kind, at, length }: Mark, text: string, word: string): Html {
  switch (kind) {
    case 'tab':
      return piece('\t', ['tab', word]);
    case 'gap':
      return piece('\t', [word]);
    case 'space':
      return piece(' ', ['space', word]);
    case 'escape':
      return piece(text.slice(at, at + length), ['escape', word]);
  }
}

function piece(text: string, classes: readonly string[]): Html {
  const names = classes.filter((name) => name !== '').join(' ');
  return names === '' ? html`${text}` : html`<span class="${names}">${text}</span>`;
}

/** Names by position, read from left to right. */
class Ranges {
  readonly #ranges: readonly (readonly [length: number, name: string])[];
  #index = 0;
  #from = 0;

  constructor(ranges: readonly (readonly [length: number, name: string])[]) {
    this.#ranges = ranges;
  }

  at(position: number): string {
    this.#moveTo(position);
    return this.#ranges[this.#index]?.[1] ?? '';
  }

  end(position: number): number {
    this.#moveTo(position);
    const range = this.#ranges[this.#index];
    return range === undefined ? Number.POSITIVE_INFINITY : this.#from + range[0];
  }

  #moveTo(position: number): void {
    while (this.#index < this.#ranges.length && this.#from + this.#ranges[this.#index]![0] <= position) {
      this.#from += this.#ranges[this.#index]![0];
      this.#index++;
    }
  }
}
