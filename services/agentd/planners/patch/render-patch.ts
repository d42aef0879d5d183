import { type FilePatch, type Hunk, quoteName, stripped, withoutReturn } from '#kit/git/patch.ts';
import { bytesText, type Edit } from './file-lines.ts';
import type { LineEnds, Reading } from './place-hunks.ts';

/** A file's part of the patch with the names that the repository knows, `a/` and `b/` before them. */
export interface ResolvedPatch {
  readonly file: FilePatch;
  /** Repository paths; null where the side does not exist. */
  readonly old_path: string | null;
  readonly new_path: string | null;
}

/**
 * Finds out how many folders at the front of the names are a prefix: git writes `a/` and `b/`, others write none, or the
 * names of two folders that were compared.
 */
export function resolveNames(file: FilePatch, files: ReadonlySet<string>): ResolvedPatch {
  const isMove = file.moved.old !== null;
  if (isMove && file.named === null) return { file, old_path: file.old_name, new_path: file.new_name };
  const { old_name, new_name, header } = file;
  const creates = file.extended.some((line) => line.startsWith('new file mode')) || startsAtNothing(file);
  const deletes = file.extended.some((line) => line.startsWith('deleted file mode'));
  const named = header ?? { old: old_name, new: new_name };
  const mayBeDeeper = header === null && !creates;
  const strip = isMove ? 0 : prefixOf(named.old, named.new, mayBeDeeper ? files : new Set());
  const old_path = old_name === null ? null : stripped(old_name, strip);
  const new_path = new_name === null ? null : stripped(new_name, strip);
  const isNew = creates && (old_path === null || !files.has(old_path));
  if (file.extended.length === 0 && !isNew && old_path !== null && new_path !== null) {
    // A copy that an editor kept, for example `--- greet.js.orig`.
    const [path, second] = [...new Set([old_path, new_path])].filter((one) => files.has(one));
    if (path !== undefined && second === undefined) return { file, old_path: path, new_path: path };
  }
  return { file, old_path: isNew ? null : old_path, new_path: deletes ? null : new_path };
}

function prefixOf(old_name: string | null, new_name: string | null, files: ReadonlySet<string>): number {
  // With a prefix the two sides never have the same name.
  if (old_name !== null && old_name === new_name) return nearest(old_name, files);
  if (hasGitPrefix(old_name, new_name)) return 1;
  const found = nearest(old_name ?? new_name ?? '', files);
  if (found > 0) return found;
  return old_name !== null && new_name !== null && isSameBelow(old_name, new_name) ? 1 : 0;
}

/** True for names that differ in their first folder only. */
export function isSameBelow(one: string, other: string): boolean {
  const below = stripped(one, 1);
  return below !== null && below === stripped(other, 1);
}

/** The fewest folders to take away until a file of the repository is named; 0 where none is. */
function nearest(name: string, files: ReadonlySet<string>): number {
  const counts = name.split('/').map((_, count) => count);
  return counts.find((count) => files.has(stripped(name, count) ?? '')) ?? 0;
}

/** `a/` and `b/`, or what `diff.mnemonicPrefix` writes. */
function hasGitPrefix(old_name: string | null, new_name: string | null): boolean {
  return (
    (old_name === null || /^[aciow1]\//.test(old_name)) && (new_name === null || /^[bciow2]\//.test(new_name))
  );
}

/** GNU diff has no `/dev/null`: a new file's only hunk begins at line 0 with no lines. */
function startsAtNothing(file: FilePatch): boolean {
  return file.hunks.length === 1 && /^@@ -0,0 /.test(file.hunks[0]!.header);
}

/** One file's part of a patch for git. @param hunks as `hunkOf` or `writtenHunks` make them */
export function renderPatch({ file, old_path, new_path }: ResolvedPatch, hunks: Uint8Array): Buffer {
  const old = old_path ?? new_path ?? '';
  const new_ = new_path ?? old_path ?? '';
  const lines =
    file.extended.length === 0
      ? []
      : [`diff --git ${quoteName(`a/${old}`)} ${quoteName(`b/${new_}`)}`, ...file.extended.slice(1)];
  if (file.named !== null) {
    lines.push(`--- ${old_path === null ? '/dev/null' : nameLine(`a/${old_path}`)}`);
    lines.push(`+++ ${new_path === null ? '/dev/null' : nameLine(`b/${new_path}`)}`);
  }
  return Buffer.concat([Buffer.from([...lines, ...file.binary].map((line) => `${line}\n`).join('')), hunks]);
}

/** A patch for a file that keeps its name and mode. */
export function filePatch(path: string, hunks: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`--- ${nameLine(`a/${path}`)}\n+++ ${nameLine(`b/${path}`)}\n`), hunks]);
}

/** The hunks of a file that has no lines to place them in: a new one or a link. */
export function writtenHunks(hunks: readonly Hunk[], ends: LineEnds, { bytes }: Reading): Buffer {
  const line = (text: string) => {
    const whole = (ends === 'exact' ? text : withoutReturn(text)) || ' ';
    return whole[0]! + (whole.startsWith('\\') ? whole.slice(1) : bytes(whole.slice(1)));
  };
  const all = hunks.flatMap(({ header, lines }) => [bytesText(header), ...lines.map(line)]);
  return Buffer.from(all.map((text) => `${text}\n`).join(''), 'latin1');
}

/** All edits of a file as one hunk with exact lines and as much context as git asks for. @param edits at least one, sorted */
export function hunkOf(lines: readonly string[], edits: readonly Edit[]): Buffer {
  const first = edits[0]!.from;
  const last = Math.max(...edits.map(({ to }) => to));
  const start = Math.max(0, first - 3);
  const end = Math.min(lines.length, last + 3);
  const body: string[] = [];
  let at = start;
  let added = 0;
  let removed = 0;
  for (const edit of edits) {
    body.push(...signed(' ', lines.slice(at, edit.from)), ...signed('-', lines.slice(edit.from, edit.to)));
    body.push(...signed('+', edit.lines));
    at = edit.to;
    added += edit.lines.length;
    removed += edit.to - edit.from;
  }
  body.push(...signed(' ', lines.slice(at, end)));
  const old = end - start;
  const new_ = old + added - removed;
  const number = (count: number) => `${start + (count === 0 ? 0 : 1)},${count}`;
  return Buffer.from(`@@ -${number(old)} +${number(new_)} @@\n${body.join('')}`, 'latin1');
}

function signed(sign: ' ' | '-' | '+', lines: readonly string[]): string[] {
  return lines.map((line) =>
    line.endsWith('\n') ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`,
  );
}

function nameLine(name: string): string {
  const quoted = quoteName(name);
  return quoted === name && name.includes(' ') ? `${name}\t` : quoted;
}
