/** A git patch taken apart, lines by number, so that fifty thousand of them cost little. */
export interface Patch {
  /** As in the patch, without line ends: not sanitised. */
  readonly lines: readonly string[];
  /** `LineKind` of each line. */
  readonly kinds: Uint8Array;
  /** Line numbers before and after; 0 where a line is on the other side alone. */
  readonly oldNumbers: Int32Array;
  readonly newNumbers: Int32Array;
  readonly highestNumber: number;
  readonly files: readonly PatchFile[];
}

export const lineKinds = { header: 0, hunk: 1, context: 2, added: 3, removed: 4, note: 5 } as const;

/** Whether a line is one of the file's, with a sign before it. */
export function isTextLine(kind: number): boolean {
  return kind === lineKinds.context || kind === lineKinds.added || kind === lineKinds.removed;
}

export interface PatchFile {
  /** After the change; not sanitised. */
  readonly path: string;
  readonly oldPath: string | null;
  /** What the file is beside a plain one, and what its mode becomes. */
  readonly nature: string;
  readonly status: 'added' | 'modified' | 'deleted' | 'renamed' | 'copied';
  readonly added: number;
  readonly removed: number;
  /** First line, and the line behind the last. */
  readonly first: number;
  readonly end: number;
}

type OpenFile = { -readonly [K in keyof PatchFile]: PatchFile[K] };

const hunkHeader = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/** A line inside a hunk is never taken for a header, whatever it says. */
export function parsePatch(text: string): Patch {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const kinds = new Uint8Array(lines.length);
  const oldNumbers = new Int32Array(lines.length);
  const newNumbers = new Int32Array(lines.length);
  const files: OpenFile[] = [];
  let file: OpenFile | null = null;
  let leftOld = 0;
  let leftNew = 0;
  let oldNumber = 0;
  let newNumber = 0;
  let highestNumber = 0;

  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    if (leftOld > 0 || leftNew > 0) {
      const sign = line[0];
      if (sign === '\\') {
        kinds[index] = lineKinds.note;
        continue;
      }
      if (sign === '+') {
        kinds[index] = lineKinds.added;
        newNumbers[index] = newNumber++;
        leftNew--;
        if (file !== null) file.added++;
        continue;
      }
      oldNumbers[index] = oldNumber++;
      leftOld--;
      if (sign === '-') {
        kinds[index] = lineKinds.removed;
        if (file !== null) file.removed++;
        continue;
      }
      kinds[index] = lineKinds.context;
      newNumbers[index] = newNumber++;
      leftNew--;
      continue;
    }
    if (line.startsWith('diff --git ')) {
      if (file !== null) file.end = index;
      file = openFile(line, index);
      files.push(file);
      continue;
    }
    const hunk = line.startsWith('@@ ') ? hunkHeader.exec(line) : null;
    if (hunk !== null) {
      kinds[index] = lineKinds.hunk;
      oldNumber = Number(hunk[1]);
      newNumber = Number(hunk[3]);
      leftOld = Number(hunk[2] ?? 1);
      leftNew = Number(hunk[4] ?? 1);
      highestNumber = Math.max(highestNumber, oldNumber + leftOld, newNumber + leftNew);
      continue;
    }
    if (line.startsWith('\\')) kinds[index] = lineKinds.note;
    else if (file !== null) readHeader(file, line);
  }
  if (file !== null) file.end = lines.length;
  return { lines, kinds, oldNumbers, newNumbers, highestNumber, files };
}

/** Where neither a rename nor a `+++` line follows, both halves of the line are the same path. */
function openFile(line: string, first: number): OpenFile {
  const names = line.slice('diff --git '.length);
  const half = names.slice(0, (names.length - 1) / 2);
  return {
    path: withoutPrefix(half),
    oldPath: null,
    nature: '',
    status: 'modified',
    added: 0,
    removed: 0,
    first,
    end: first + 1,
  };
}

function readHeader(file: OpenFile, line: string): void {
  if (line.startsWith('new file mode')) {
    file.status = 'added';
    file.nature = natureOf(line.slice(14));
  } else if (line.startsWith('deleted file mode')) file.status = 'deleted';
  else if (line.startsWith('new mode ')) file.nature = `now ${natureOf(line.slice(9)) || 'a plain file'}`;
  else if (line.startsWith('Binary files ') || line === 'GIT binary patch') file.nature = 'binary';
  else if (line.startsWith('rename from ')) file.oldPath = unquoted(line.slice(12));
  else if (line.startsWith('copy from ')) file.oldPath = unquoted(line.slice(10));
  else if (line.startsWith('rename to ')) {
    file.path = unquoted(line.slice(10));
    file.status = 'renamed';
  } else if (line.startsWith('copy to ')) {
    file.path = unquoted(line.slice(8));
    file.status = 'copied';
  } else if (line.startsWith('+++ ') && line !== '+++ /dev/null') file.path = withoutPrefix(line.slice(4));
  else if (line.startsWith('--- ') && line !== '--- /dev/null') file.path = withoutPrefix(line.slice(4));
}

function withoutPrefix(name: string): string {
  return unquoted(name.replace(/\t$/, '')).replace(/^[ab]\//, '');
}

function natureOf(mode: string): string {
  return { '100755': 'executable', '120000': 'symbolic link', '160000': 'submodule' }[mode.trim()] ?? '';
}

/** Quoted names keep all escapes but those of letters beyond ASCII: they are shown, never opened. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  return name.slice(1, -1).replace(/(?:\\[23][0-7]{2})+/g, (octal) => {
    const bytes = octal
      .slice(1)
      .split('\\')
      .map((digits) => Number.parseInt(digits, 8));
    const text = Buffer.from(bytes).toString('utf8');
    return text.includes('\ufffd') ? octal : text;
  });
}
