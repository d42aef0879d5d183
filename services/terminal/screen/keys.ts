/** What a person does at a terminal. */
export type Input =
  /** A printable character as itself, or a name: `up`, `enter`, `ctrl-c`, … */
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'paste'; readonly text: string }
  /** Positions from 0. `lines` is negative upwards. */
  | { readonly kind: 'wheel'; readonly lines: number; readonly row: number; readonly column: number }
  | { readonly kind: 'click'; readonly row: number; readonly column: number };

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
const mostPasted = 64 * 1024;
const wheelLines = 3;

/** Takes a terminal's bytes apart. An escape that may be the beginning of more is kept until `flush`. */
export class KeyDecoder {
  #rest = '';
  readonly #text = new TextDecoder();

  decode(bytes: Uint8Array): Input[] {
    this.#rest += this.#text.decode(bytes, { stream: true });
    return this.#take(false);
  }

  /** Nothing followed for a moment: what was kept is a key by itself. */
  flush(): Input[] {
    return this.#take(true);
  }

  get waits(): boolean {
    return this.#rest !== '';
  }

  #take(complete: boolean): Input[] {
    const inputs: Input[] = [];
    while (this.#rest !== '') {
      const taken = next(this.#rest, complete);
      if (taken === null) break;
      const [input, length] = taken;
      this.#rest = this.#rest.slice(length);
      if (input !== null) inputs.push(input);
    }
    return inputs;
  }
}

/** The first input and how many characters it takes; null when more is needed. */
function next(text: string, complete: boolean): readonly [Input | null, number] | null {
  if (text.startsWith(pasteBegin)) return pasted(text, complete);
  if (text[0] !== '\x1b') return plain(text);
  if (text.length === 1) return complete ? [key('escape'), 1] : null;
  const mouse = /^\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})([Mm])/.exec(text);
  if (mouse !== null) return [mouseInput(mouse), mouse[0].length];
  const sequence = /^\x1b(?:\[|O)([0-9;<?]*)([A-Za-z~])/.exec(text);
  if (sequence !== null) return [sequenceInput(sequence), sequence[0].length];
  if (/^\x1b(?:\[|O)[0-9;<?]{0,24}$/.test(text) && !complete) return null;
  // Alt and a character, or escape pressed just before something else.
  return [key('escape'), 1];
}

function plain(text: string): readonly [Input | null, number] {
  const character = String.fromCodePoint(text.codePointAt(0)!);
  const control = controls[character];
  if (control !== undefined) return [key(control), 1];
  if (character < ' ') return [key(`ctrl-${String.fromCharCode(character.charCodeAt(0) + 96)}`), 1];
  return [key(character), character.length];
}

function pasted(text: string, complete: boolean): readonly [Input | null, number] | null {
  const end = text.indexOf(pasteEnd);
  if (end !== -1) {
    return [{ kind: 'paste', text: text.slice(pasteBegin.length, end) }, end + pasteEnd.length];
  }
  if (!complete && text.length < mostPasted) return null;
  return [{ kind: 'paste', text: text.slice(pasteBegin.length, mostPasted) }, text.length];
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
