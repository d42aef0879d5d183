import { namesOfGitHeader, readName } from './git-path.ts';
import { withoutReturn } from './markdown.ts';

export interface Hunk {
  readonly header: string;
  /**
   * With their first character; a blank line is a context line whose space an editor took. A carriage return at the end is
   * one of the file: text in which also the patch's own lines end so comes here without.
   */
  readonly lines: readonly string[];
}

/** The part of a patch that is about one file, as it was written. */
export interface FilePatch {
  /** `diff --git` and the extended header; empty for a plain unified diff. */
  readonly extended: readonly string[];
  /** The names in `diff --git`, which has both even where one side does not exist; null where it cannot be read. */
  readonly header: { readonly old: string; readonly new: string } | null;
  /** Names as written, with whatever prefix; null is `/dev/null`. */
  readonly old_name: string | null;
  readonly new_name: string | null;
  /** Whether `---` and `+++` lines were there. */
  readonly has_names: boolean;
  readonly hunks: readonly Hunk[];
  /** `GIT binary patch` and what follows; empty for text. */
  readonly binary: readonly string[];
  /** Line of the text in which it begins, from 1. */
  readonly line: number;
}

export interface ScannedPatch {
  readonly files: readonly FilePatch[];
  /** Why a part cannot be used, in words for people. */
  readonly problems: readonly string[];
}

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
/** Lines that git writes itself and ends with a line feed alone. */
const structure = /^(?:diff --git |--- |\+\+\+ |@@ -|index )/;
const extendedLine =
  /^(?:old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index|index) /;

/**
 * Finds the patches in lines of text. What lies around them (a mail's header, prose, a diffstat, a signature) is passed over; a
 * patch whose hunks are not as long as they say is a problem and never a guess.
 */
export function scanPatches(lines: readonly string[], firstLine: number): ScannedPatch {
  const rewritten = lines.some((line) => line.endsWith('\r') && structure.test(line));
  const scanner = new Scanner(rewritten ? lines.map(withoutReturn) : lines, firstLine);
  while (!scanner.atEnd()) scanner.step();
  return { files: scanner.files, problems: scanner.problems };
}

class Scanner {
  readonly files: FilePatch[] = [];
  readonly problems: string[] = [];
  readonly #lines: readonly string[];
  readonly #firstLine: number;
  #at = 0;

  constructor(lines: readonly string[], firstLine: number) {
    this.#lines = lines;
    this.#firstLine = firstLine;
  }

  atEnd(): boolean {
    return this.#at >= this.#lines.length;
  }

  step(): void {
    const line = this.#peek();
    if (line.startsWith('diff --git ')) this.#gitPatch();
    else if (this.#atNames() && hunkHeader.test(this.#peek(2))) this.#plainPatch();
    else this.#at += 1;
  }

  #peek(ahead = 0): string {
    return this.#lines[this.#at + ahead] ?? '';
  }

  #atNames(): boolean {
    return this.#peek().startsWith('--- ') && this.#peek(1).startsWith('+++ ');
  }

  #problem(index: number, what: string): void {
    this.problems.push(`line ${this.#firstLine + index}: ${what}`);
  }

  #gitPatch(): void {
    const start = this.#at;
    const extended = [this.#peek()];
    this.#at += 1;
    while (extendedLine.test(this.#peek())) extended.push(this.#take());
    const header = namesOfGitHeader(extended[0]!);
    const from = nameAfter(extended, /^(?:rename|copy) from /);
    const to = nameAfter(extended, /^(?:rename|copy) to /);
    let old_name: string | null = from ?? header?.old ?? null;
    let new_name: string | null = to ?? header?.new ?? null;
    let hunks: Hunk[] = [];
    let binary: string[] = [];
    const has_names = this.#atNames();
    if (has_names) {
      const names = this.#names();
      old_name = from === null ? names.old : old_name;
      new_name = to === null ? names.new : new_name;
      hunks = this.#hunks();
    } else if (this.#peek() === 'GIT binary patch') {
      binary = this.#binary();
    } else if (/^Binary files .* differ$/.test(this.#peek())) {
      this.#problem(
        this.#at,
        'a binary file is changed, but its content is not there; `git diff --binary` writes it',
      );
      return;
    }
    if (old_name === null && new_name === null) {
      this.#problem(start, 'the names of the file cannot be read');
      return;
    }
    this.files.push({
      extended,
      header,
      old_name,
      new_name,
      has_names,
      hunks,
      binary,
      line: this.#firstLine + start,
    });
  }

  #plainPatch(): void {
    const start = this.#at;
    const names = this.#names();
    const hunks = this.#hunks();
    if (names.old === null && names.new === null) {
      this.#problem(start, 'the names of the file cannot be read');
      return;
    }
    this.files.push({
      extended: [],
      header: null,
      old_name: names.old,
      new_name: names.new,
      has_names: true,
      hunks,
      binary: [],
      line: this.#firstLine + start,
    });
  }

  #take(): string {
    const line = this.#peek();
    this.#at += 1;
    return line;
  }

  #names(): { old: string | null; new: string | null } {
    const old = readName(nameText(this.#take()));
    const new_ = readName(nameText(this.#take()));
    return { old: realName(old?.name), new: realName(new_?.name) };
  }

  #hunks(): Hunk[] {
    const hunks: Hunk[] = [];
    while (hunkHeader.test(this.#peek())) hunks.push(this.#hunk());
    return hunks;
  }

  #hunk(): Hunk {
    const start = this.#at;
    const header = this.#take();
    const [, , oldCount = '1', , newCount = '1'] = hunkHeader.exec(header)!;
    let old = Number(oldCount);
    let new_ = Number(newCount);
    const lines: string[] = [];
    while ((old > 0 || new_ > 0) && !this.atEnd()) {
      const sign = this.#peek()[0] ?? ' ';
      if (sign !== ' ' && sign !== '-' && sign !== '+' && sign !== '\\') break;
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
    return { header, lines };
  }

  /** One or two parts (forward, and sometimes backward) of base85 lines, each ended by a blank line. */
  #binary(): string[] {
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

/** A tab ends a name that may itself end in spaces. */
function nameText(line: string): string {
  const text = line.slice(4);
  return text.includes('\t') ? text : text.trimEnd();
}

function realName(name: string | undefined): string | null {
  return name === undefined || name === '/dev/null' ? null : name;
}

function nameAfter(lines: readonly string[], pattern: RegExp): string | null {
  const line = lines.find((candidate) => pattern.test(candidate));
  return line === undefined ? null : (readName(line.replace(pattern, ''))?.name ?? null);
}
