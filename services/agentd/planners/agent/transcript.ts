/** What an agent did and said, entry by entry, without secrets and within bounds. */

export type TranscriptEntry = { readonly seconds: number } & (
  | { readonly type: 'message' | 'thought' | 'standard_error' | 'output' | 'note'; readonly text: string }
  | {
      readonly type: 'tool';
      readonly title: string;
      readonly kind: string | null;
      readonly status: string | null;
      readonly paths: readonly string[];
    }
  | {
      readonly type: 'permission';
      readonly title: string;
      readonly paths: readonly string[];
      readonly allowed: boolean;
      readonly why: string;
    }
  | {
      readonly type: 'file';
      readonly action: 'read' | 'write';
      readonly path: string;
      readonly bytes: number;
    }
);

type Distribute<T> = T extends unknown ? Omit<T, 'seconds'> : never;
export type NewEntry = Distribute<TranscriptEntry>;
type TextKind = Extract<TranscriptEntry, { text: string }>['type'];

const maxTextLength = 64 * 1024;
const maxBytes = 8 * 1024 * 1024;
/** Secrets in one piece are shorter. */
const maxWordLength = 4 * 1024;
/** Of the files that one entry names. */
const maxPaths = 100;

/** Collects entries, and gives them away piece by piece so that a killed agent's are kept too. */
export class Transcript {
  readonly #mask: (text: string) => string;
  readonly #elapsed: () => number;
  #entries: string[] = [];
  #open: { type: TextKind; text: string; seconds: number } | null = null;
  #bytes = 0;
  #leftOut = 0;

  /** @param elapsed seconds since the agent was started */
  constructor(mask: (text: string) => string, elapsed: () => number) {
    this.#mask = mask;
    this.#elapsed = elapsed;
  }

  add(entry: NewEntry): void {
    this.#close();
    this.#push({ seconds: this.#now(), ...entry } as TranscriptEntry);
  }

  /** A piece of a text that comes in pieces; a secret that is cut between two of them is masked all the same. */
  text(type: TextKind, piece: string): void {
    for (let rest = piece; rest !== ''; ) {
      const room = maxTextLength - (this.#open?.type === type ? this.#open.text.length : 0);
      this.#append(type, rest.slice(0, room));
      rest = rest.slice(room);
    }
  }

  #append(type: TextKind, piece: string): void {
    if (this.#open?.type !== type) {
      this.#close();
      this.#open = { type, text: '', seconds: this.#now() };
    }
    const text = this.#open!.text + piece;
    this.#open!.text = text;
    if (text.length < maxTextLength) return;
    // The last word may go on, and half a secret would not be masked.
    const word = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\n')) + 1;
    const end = text.length - word > maxWordLength ? text.length : word;
    this.#open!.text = text.slice(0, end);
    this.#close();
    if (end < text.length) this.#open = { type, text: text.slice(end), seconds: this.#now() };
  }

  /** What came since it was asked last, as JSON lines; null where nothing did. `whole`: also the text that is still coming. */
  take(whole: boolean): string | null {
    if (whole) {
      this.#close();
      if (this.#leftOut > 0) {
        const text = `${this.#leftOut} more entries are left out: the transcript holds ${maxBytes} bytes`;
        this.#entries.push(JSON.stringify({ seconds: this.#now(), type: 'note', text }));
        this.#leftOut = 0;
      }
    }
    if (this.#entries.length === 0) return null;
    const lines = `${this.#entries.join('\n')}\n`;
    this.#entries = [];
    return lines;
  }

  #close(): void {
    const open = this.#open;
    this.#open = null;
    if (open !== null && open.text !== '') this.#push(open);
  }

  #push(entry: TranscriptEntry): void {
    if (this.#bytes > maxBytes) {
      this.#leftOut += 1;
      return;
    }
    const line = JSON.stringify(entry, (_, value: unknown) => {
      if (Array.isArray(value)) return value.slice(0, maxPaths);
      return typeof value === 'string' ? this.#masked(value) : value;
    });
    this.#bytes += Buffer.byteLength(line);
    this.#entries.push(line);
  }

  /** Masked before it is cut: half a secret is not recognised. */
  #masked(text: string): string {
    return cut(this.#mask(text.slice(0, 2 * maxTextLength)));
  }

  #now(): number {
    return Math.round(this.#elapsed() * 10) / 10;
  }
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength).toWellFormed()}…`;
}
