import { type FilePatch, scanPatches } from '../git/patch.ts';

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

export function parsePatch(text: string): Patch {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const kinds = new Uint8Array(lines.length);
  const oldNumbers = new Int32Array(lines.length);
  const newNumbers = new Int32Array(lines.length);
  let highestNumber = 0;
  const scanned = scanPatches(lines, 0).files;
  const files = scanned.map((file, index): PatchFile => {
    const count = { added: 0, removed: 0 };
    for (const hunk of file.hunks) {
      kinds[hunk.line] = lineKinds.hunk;
      let { old_start: oldNumber, new_start: newNumber } = hunk;
      for (const [offset, line] of hunk.lines.entries()) {
        const at = hunk.line + 1 + offset;
        const kind = kindsOfSigns[line[0] ?? ' '] ?? lineKinds.context;
        kinds[at] = kind;
        if (kind === lineKinds.added) count.added++;
        if (kind === lineKinds.removed) count.removed++;
        if (kind === lineKinds.context || kind === lineKinds.removed) oldNumbers[at] = oldNumber++;
        if (kind === lineKinds.context || kind === lineKinds.added) newNumbers[at] = newNumber++;
      }
      highestNumber = Math.max(highestNumber, oldNumber, newNumber);
    }
    const end = scanned[index + 1]?.line ?? lines.length;
    return { ...describe(file), ...count, first: file.line, end };
  });
  return { lines, kinds, oldNumbers, newNumbers, highestNumber, files };
}

const kindsOfSigns: Readonly<Record<string, number>> = {
  '+': lineKinds.added,
  '-': lineKinds.removed,
  '\\': lineKinds.note,
};

function describe(file: FilePatch): Pick<PatchFile, 'path' | 'oldPath' | 'nature' | 'status'> {
  const { moved, old_name, new_name } = file;
  const path = moved.new ?? (new_name ?? old_name ?? '').replace(/^[ab]\//, '');
  return { path, oldPath: moved.old, nature: natureOf(file), status: statusOf(file) };
}

function statusOf({ extended, moved }: FilePatch): PatchFile['status'] {
  if (headerValue(extended, 'new file mode ') !== null) return 'added';
  if (headerValue(extended, 'deleted file mode ') !== null) return 'deleted';
  if (moved.old === null) return 'modified';
  return headerValue(extended, 'rename from ') === null ? 'copied' : 'renamed';
}

function natureOf({ extended, binary }: FilePatch): string {
  if (binary.length > 0) return 'binary';
  const mode = headerValue(extended, 'new mode ');
  if (mode !== null) return `now ${kindOfFile(mode) || 'a plain file'}`;
  return kindOfFile(headerValue(extended, 'new file mode ') ?? '');
}

function headerValue(extended: readonly string[], start: string): string | null {
  return extended.find((line) => line.startsWith(start))?.slice(start.length) ?? null;
}

function kindOfFile(mode: string): string {
  return { '100755': 'executable', '120000': 'symbolic link', '160000': 'submodule' }[mode.trim()] ?? '';
}
