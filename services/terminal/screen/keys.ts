/** What a person does at a terminal. */
export type Input =
  /** A printable character as itself, or a name: `up`, `enter`, `ctrl-c`, … */
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'paste'; readonly text: string }
  /** Positions from 0. `lines` is negative upwards. */
  | { readonly kind: 'wheel'; readonly lines: number; readonly row: number; readonly column: number }
  | { readonly kind: 'click'; readonly row: number; readonly column: number };

/** The terminal's answer to `askBackground`; each from 0 to 1. */
export interface Background {
  readonly kind: 'background';
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

export type Read = Input | Background;

/** OSC 11; terminals that do not know it say nothing. */
export const askBackground = '\x1b]11;?\x07';

const named: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'shift-tab',
  '1~': 'home',
  '3~': 'delete',
  '4~': 'end',
  '5~': 'page-up',
  '6~': 'page-down',
  '7~': 'home',
  '8~': 'end',
};
const controls: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x1b': 'escape',
};
const pasteBegin = '\x1b[200~';
const pasteEnd = '\x1b[201~';
const maxPasted = 64 * 1024;
const wheelLines = 3;

/** Takes a terminal's bytes apart. An escape that may be the beginning of more is kept until `flush`. */
export class KeyDecoder {
  #rest = '';
  /** What was pasted so far; null outside of a paste, which only its own end ends. */
  #paste: string | null = null;
  readonly #text = new TextDecoder();

  decode(bytes: Uint8Array): Read[] {
    this.#rest += this.#text.decode(bytes, { stream: true });
    return this.#take(false);
  }

  /** Nothing followed for a moment: what was kept is a key by itself. */
  flush(): Read[] {
    return this.#take(true);
  }

  get waits(): boolean {
    return this.#rest !== '' && this.#paste === null;
  }

  #take(complete: boolean): Read[] {
    const inputs: Read[] = [];
    while (this.#rest !== '') {
      if (this.#paste === null && this.#rest.startsWith(pasteBegin)) {
        this.#paste = '';
        this.#rest = this.#rest.slice(pasteBegin.length);
        continue;
      }
      const taken = this.#paste === null ? next(this.#rest, complete) : this.#pasted(this.#paste);
      if (taken === null) break;
      const [input, length] = taken;
      this.#rest = this.#rest.slice(length);
      if (input !== null) inputs.push(input);
    }
    return inputs;
  }

  #pasted(before: string): readonly [Input, number] | null {
    const end = this.#rest.search(/\x1b\[201~|\x03/);
    if (end === -1) {
      // The end itself may have come in part.
      const kept = Math.max(0, this.#rest.length - pasteEnd.length + 1);
      this.#paste = (before + this.#rest.slice(0, kept)).slice(0, maxPasted);
      this.#rest = this.#rest.slice(kept);
      return null;
    }
    this.#paste = null;
    // A terminal that never ends a paste would keep all keys to itself.
    if (this.#rest[end] === '\x03') return [key('ctrl-c'), this.#rest.length];
    const text = (before + this.#rest.slice(0, end)).slice(0, maxPasted);
    return [{ kind: 'paste', text }, end + pasteEnd.length];
  }
}

/** The first input and how many characters it takes; null when more is needed. */
function next(text: string, complete: boolean): readonly [Read | null, number] | null {
  if (text[0] !== '\x1b') return plain(text);
  if (text.length === 1) return complete ? [key('escape'), 1] : null;
  const mouse = /^\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})([Mm])/.exec(text);
  if (mouse !== null) return [mouseInput(mouse), mouse[0].length];
  const sequence = /^\x1b(?:\[|O)([0-9;]*)([A-Za-z~])/.exec(text);
  if (sequence !== null && text[2] !== 'M') return [sequenceInput(sequence), sequence[0].length];
  const background = backgroundAnswer.exec(text);
  if (background !== null) return [backgroundInput(background), background[0].length];
  const unknown = unknownSequence.exec(text);
  if (unknown !== null) return [null, unknown[0].length];
  if (begunSequence.test(text)) return complete ? [key('escape'), text.length] : null;
  if (text[1] === '\x1b') return [key('escape'), 1];
  const character = String.fromCodePoint(text.codePointAt(1)!);
  return [key(`alt-${character}`), 1 + character.length];
}

/** Answers of terminals, keys without a name here, mouse reports of old terminals: taken whole, and obeyed by nothing. */
const unknownSequence =
  /^\x1b(?:\[\[[\s\S]|\[M[\s\S]{3}|\[(?!\[|M)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|[\]P^_][^\x07\x1b]*(?:\x07|\x1b\\))/;
const begunSequence =
  /^\x1b(?:\[[\x30-\x3f]{0,64}[\x20-\x2f]*|\[\[|\[M[\s\S]{0,2}|O[0-9;]{0,24}|[\]P^_][^\x07\x1b]{0,4096}\x1b?)$/;

const backgroundAnswer =
  /^\x1b\]11;rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})[^\x07\x1b]{0,8}(?:\x07|\x1b\\)/i;

function backgroundInput([, red = '', green = '', blue = '']: RegExpExecArray): Background {
  const share = (digits: string) => Number.parseInt(digits, 16) / (16 ** digits.length - 1);
  return { kind: 'background', red: share(red), green: share(green), blue: share(blue) };
}

function plain(text: string): readonly [Input | null, number] {
  const character = String.fromCodePoint(text.codePointAt(0)!);
  const control = controls[character];
  if (control !== undefined) return [key(control), 1];
  if (character < ' ') return [key(`ctrl-${String.fromCharCode(character.charCodeAt(0) + 96)}`), 1];
  return [key(character), character.length];
}

function mouseInput([, code, column, row, end]: RegExpExecArray): Input | null {
  const at = { row: Number(row) - 1, column: Number(column) - 1 };
  const button = Number(code) & ~0b11100;
  if (button === 64) return { kind: 'wheel', lines: -wheelLines, ...at };
  if (button === 65) return { kind: 'wheel', lines: wheelLines, ...at };
  return Number(code) === 0 && end === 'M' ? { kind: 'click', ...at } : null;
}

function sequenceInput([, parameters = '', final = '']: RegExpExecArray): Input | null {
  const name = named[final === '~' ? `${parameters.split(';')[0]}~` : final];
  return name === undefined ? null : key(name);
}

function key(name: string): Input {
  return { kind: 'key', key: name };
}
