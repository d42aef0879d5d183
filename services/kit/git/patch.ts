/**
 * Scans patches as git and GNU diff write them, and names of files in their headers. The package `diff` (9.0) was tried in its place: it
 * drops binary content and headers that applying needs, and throws at the first hunk that is cut off.
 */

export interface Hunk {
  readonly header: string;
  /** First line number before and after. */
  readonly old_start: number;
  readonly new_start: number;
  /**
   * With their first character; a blank line is a context line whose space an editor took. A carriage return at the end is
   * one of the file: text in which also the patch's own lines end so comes here without.
   */
  readonly lines: readonly string[];
  /** Line of the text in which it begins, from `firstLine`. */
  readonly line: number;
}

/** Names as written, with whatever prefix; null is `/dev/null`, or cannot be read. */
interface Names {
  readonly old: string | null;
  readonly new: string | null;
}

/** The part of a patch that is about one file, as it was written. */
export interface FilePatch {
  /** `diff --git` and the extended header; empty for a plain unified diff. */
  readonly extended: readonly string[];
  /** The names in `diff --git`, which has both even where one side does not exist; null where it cannot be read. */
  readonly header: { readonly old: string; readonly new: string } | null;
  /** Of a rename or copy, which have no prefix. */
  readonly moved: Names;
  /** In the `---` and `+++` lines; null where there are none. */
  readonly named: Names | null;
  /** The first of these that is known. */
  readonly old_name: string | null;
  readonly new_name: string | null;
  readonly hunks: readonly Hunk[];
  /** What stands in place of hunks, from its first line on; empty for text. */
  readonly binary: readonly string[];
  /** Line of the text in which it begins, from `firstLine`. */
  readonly line: number;
}

export interface ScannedPatch {
  readonly files: readonly FilePatch[];
  /** Why a part cannot be used, in words for people. */
  readonly problems: readonly string[];
  /** Indexes of the lines outside of patches. */
  readonly others: readonly number[];
}

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
/** Lines that git writes itself and ends with a line feed alone. */
const structure = /^(?:diff --git |--- |\+\+\+ |@@ -|index )/;
const extendedLine =
  /^(?:old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index|index) /;

/**
 * Finds the patches in lines of text. What lies around them (a mail's header, prose, a diffstat, a signature) is passed over; a
 * patch whose hunks are not as long as they say is a problem and never a guess. No line inside a hunk is taken for a header.
 */
export function scanPatches(lines: readonly string[], firstLine: number): ScannedPatch {
  const rewritten = lines.some((line) => line.endsWith('\r') && structure.test(line));
  const scanner = new Scanner(rewritten ? lines.map(withoutReturn) : lines, firstLine);
  scanner.scan();
  return scanner;
}

class Scanner {
  readonly files: FilePatch[] = [];
  readonly problems: string[] = [];
  readonly others: number[] = [];
  readonly #lines: readonly string[];
  readonly #firstLine: number;
  #at = 0;

  constructor(lines: readonly string[], firstLine: number) {
    this.#lines = lines;
    this.#firstLine = firstLine;
  }

  scan(): void {
    while (this.#at < this.#lines.length) {
      const isPatch =
        this.#peek().startsWith('diff --git ') || (this.#atNames() && hunkHeader.test(this.#peek(2)));
      if (isPatch) this.#file();
      else this.others.push(this.#at++);
    }
  }

  #peek(ahead = 0): string {
    return this.#lines[this.#at + ahead] ?? '';
  }

  #take(): string {
    const line = this.#peek();
    this.#at += 1;
    return line;
  }

  #atNames(): boolean {
    return this.#peek().startsWith('--- ') && this.#peek(1).startsWith('+++ ');
  }

  #problem(index: number, what: string): void {
    this.problems.push(`line ${this.#firstLine + index}: ${what}`);
  }

  #file(): void {
    const start = this.#at;
    const extended: string[] = [];
    if (this.#peek().startsWith('diff --git ')) extended.push(this.#take());
    while (extended.length > 0 && extendedLine.test(this.#peek())) extended.push(this.#take());
    const header = extended.length === 0 ? null : namesOfGitHeader(extended[0]!);
    const moved = {
      old: nameAfter(extended, /^(?:rename|copy) from /),
      new: nameAfter(extended, /^(?:rename|copy) to /),
    };
    const named = this.#atNames() ? { old: this.#name(), new: this.#name() } : null;
    const hunks: Hunk[] = [];
    while (named !== null && hunkHeader.test(this.#peek())) hunks.push(this.#hunk());
    const binary = named === null ? this.#binary() : [];
    const old_name = moved.old ?? (named ?? header)?.old ?? null;
    const new_name = moved.new ?? (named ?? header)?.new ?? null;
    if (old_name === null && new_name === null) this.#problem(start, 'the names of the file cannot be read');
    const line = this.#firstLine + start;
    this.files.push({ extended, header, moved, named, old_name, new_name, hunks, binary, line });
  }

  /** Of a `---` or `+++` line. A tab ends a name that may itself end in spaces. */
  #name(): string | null {
    const text = this.#take().slice(4);
    const name = readName(text.includes('\t') ? text : text.trimEnd())?.name;
    return name === undefined || name === '/dev/null' ? null : name;
  }

  #hunk(): Hunk {
    const start = this.#at;
    const header = this.#take();
    const [, old_start, oldCount = '1', new_start, newCount = '1'] = hunkHeader.exec(header)!;
    let old = Number(oldCount);
    let new_ = Number(newCount);
    const lines: string[] = [];
    while ((old > 0 || new_ > 0) && this.#at < this.#lines.length) {
      const sign = this.#peek()[0] ?? ' ';
      if (!' -+\\'.includes(sign)) break;
      if (sign === ' ' || sign === '-') old -= 1;
      if (sign === ' ' || sign === '+') new_ -= 1;
      lines.push(this.#take());
    }
    if (this.#peek().startsWith('\\')) lines.push(this.#take());
    const what = `hunk "${header.slice(0, 60)}"`;
    if (old !== 0 || new_ !== 0) {
      this.#problem(start, `${what} is cut off, or the numbers in its first line are wrong`);
    } else if (/^[+-]/.test(this.#peek()) && !this.#atNames() && !/^--\s*$/.test(this.#peek())) {
      this.#problem(start, `${what} has more lines than the numbers in its first line say`);
    }
    const line = this.#firstLine + start;
    return { header, old_start: Number(old_start), new_start: Number(new_start), lines, line };
  }

  /** One or two parts (forward, and sometimes backward) of base85 lines, each ended by a blank line. */
  #binary(): string[] {
    if (/^Binary files .* differ$/.test(this.#peek())) {
      const what = 'a binary file is changed, but its content is not there; `git diff --binary` writes it';
      this.#problem(this.#at, what);
      return [this.#take()];
    }
    if (this.#peek() !== 'GIT binary patch') return [];
    const lines = [this.#take()];
    while (/^(?:literal|delta) \d+$/.test(this.#peek())) {
      lines.push(this.#take());
      while (/^[A-Za-z][!-~]+$/.test(this.#peek())) lines.push(this.#take());
      lines.push('');
      if (this.#peek() === '') this.#at += 1;
    }
    return lines;
  }
}

function nameAfter(lines: readonly string[], pattern: RegExp): string | null {
  const line = lines.find((candidate) => pattern.test(candidate));
  return line === undefined ? null : (readName(line.replace(pattern, ''))?.name ?? null);
}

export function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

const escapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Reads one name at the start of `text`: quoted as in C, else up to a tab or the end. null where it is malformed. */
function readName(text: string): { name: string; rest: string } | null {
  if (!text.startsWith('"')) {
    const tab = text.indexOf('\t');
    const plain = tab < 0 ? text : text.slice(0, tab);
    // Some tools separate a date by spaces.
    const name = plain.replace(/ +\d{4}-\d\d-\d\d[ T]\d\d:\d\d\S*( [+-]\d{4})?$/, '');
    return name === '' ? null : { name, rest: tab < 0 ? '' : text.slice(tab) };
  }
  const bytes: number[] = [];
  for (let index = 1; index < text.length; index += 1) {
    const character = text[index]!;
    if (character === '"') {
      const name = utf8(Uint8Array.from(bytes));
      return name === null ? null : { name, rest: text.slice(index + 1) };
    }
    if (character !== '\\') {
      const code = text.codePointAt(index)!;
      bytes.push(...Buffer.from(String.fromCodePoint(code)));
      if (code > 0xffff) index += 1;
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(index + 1, index + 4));
    if (octal !== null) {
      bytes.push(Number.parseInt(octal[0], 8));
      index += 3;
      continue;
    }
    const escaped = escapes[text[index + 1] ?? ''];
    if (escaped === undefined) return null;
    bytes.push(escaped);
    index += 1;
  }
  return null;
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Writes a name as git does: quoted as in C where it holds a quote, a backslash, a control character or more than ASCII. */
export function quoteName(name: string): string {
  if (!/["\\\u0000-\u001f\u007f-\uffff]/.test(name)) return name;
  let quoted = '';
  for (const byte of Buffer.from(name)) {
    if (byte === 34 || byte === 92) quoted += `\\${String.fromCharCode(byte)}`;
    else if (byte < 32 || byte > 126) quoted += `\\${byte.toString(8).padStart(3, '0')}`;
    else quoted += String.fromCharCode(byte);
  }
  return `"${quoted}"`;
}

/** Without its first `count` folders; null when it has no more than that. */
export function stripped(name: string, count: number): string | null {
  const parts = name.split('/');
  return parts.length > count ? parts.slice(count).join('/') : null;
}

/** The two names of `diff --git OLD NEW`; names with spaces can be separated if both are the same. */
function namesOfGitHeader(line: string): { old: string; new: string } | null {
  const text = line.slice('diff --git '.length);
  if (text.startsWith('"')) {
    const first = readName(text);
    const second = first === null ? null : readName(first.rest.trimStart());
    return first === null || second === null ? null : { old: first.name, new: second.name };
  }
  const quotedSecond = text.indexOf(' "');
  if (quotedSecond > 0) {
    const second = readName(text.slice(quotedSecond + 1));
    return second === null ? null : { old: text.slice(0, quotedSecond), new: second.name };
  }
  const parts = text.split(' ');
  if (parts.length === 2) return { old: parts[0]!, new: parts[1]! };
  const middle = (text.length - 1) / 2;
  if (!Number.isInteger(middle) || text[middle] !== ' ') return null;
  const [old, new_] = [text.slice(0, middle), text.slice(middle + 1)];
  return old === new_ || stripped(old, 1) === stripped(new_, 1) ? { old, new: new_ } : null;
}
