import type { FilePatch, Hunk } from './file-patch.ts';
import { quoteName, stripped } from './git-path.ts';
import { withoutReturn } from './markdown.ts';

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
  const isMove = file.extended.some((line) => /^(?:rename|copy) from /.test(line));
  if (isMove && !file.has_names) return { file, old_path: file.old_name, new_path: file.new_name };
  const { old_name, new_name, header } = file;
  const creates = file.extended.some((line) => line.startsWith('new file mode')) || startsAtNothing(file);
  const deletes = file.extended.some((line) => line.startsWith('deleted file mode'));
  const named = header ?? { old: old_name, new: new_name };
  const mayBeDeeper = header === null && !creates;
  const strip = isMove ? 0 : prefixOf(named.old, named.new, mayBeDeeper ? files : new Set());
  const old_path = old_name === null ? null : stripped(old_name, strip);
  const new_path = new_name === null ? null : stripped(new_name, strip);
  const isNew = creates && (old_path === null || !files.has(old_path));
  return { file, old_path: isNew ? null : old_path, new_path: deletes ? null : new_path };
}

function prefixOf(old_name: string | null, new_name: string | null, files: ReadonlySet<string>): number {
  // With a prefix the two sides never have the same name.
  if (old_name !== null && old_name === new_name) return nearest(old_name, files);
  if (hasGitPrefix(old_name, new_name)) return 1;
  const found = nearest(old_name ?? new_name ?? '', files);
  if (found > 0) return found;
  const differ = old_name !== null && new_name !== null;
  return differ && stripped(old_name, 1) === stripped(new_name, 1) ? 1 : 0;
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

/**
 * How the lines of a hunk end: `as written` with a carriage return where the text had one, else without those of the text and
 * with the given ends, one for each line of the file that is changed.
 */
export type LineEnds = 'as written' | readonly ('\n' | '\r\n')[];

/** The part as git reads it. */
export function renderPatch({ file, old_path, new_path }: ResolvedPatch, ends: LineEnds): string {
  const old = old_path ?? new_path ?? '';
  const new_ = new_path ?? old_path ?? '';
  const lines =
    file.extended.length === 0
      ? []
      : [`diff --git ${quoteName(`a/${old}`)} ${quoteName(`b/${new_}`)}`, ...file.extended.slice(1)];
  if (file.has_names) {
    lines.push(`--- ${old_path === null ? '/dev/null' : nameLine(`a/${old_path}`)}`);
    lines.push(`+++ ${new_path === null ? '/dev/null' : nameLine(`b/${new_path}`)}`);
  }
  const body = file.hunks.flatMap((hunk) => [`${hunk.header}\n`, ...hunkLines(hunk, ends)]);
  return [...[...lines, ...file.binary].map((line) => `${line}\n`), ...body].join('');
}

function hunkLines({ header, lines }: Hunk, ends: LineEnds): string[] {
  let at = Number(/^@@ -(\d+)/.exec(header)?.[1] ?? 1) - 1;
  return lines.map((line, index) => {
    const text = line === '' ? ' ' : line;
    if (ends === 'as written' || line.startsWith('\\')) return `${text}\n`;
    const added = line.startsWith('+');
    // An added line ends as the one before it, or else the one behind it.
    const end = ends[Math.min(Math.max(0, added ? at - 1 : at), ends.length - 1)] ?? '\n';
    if (!added) at += 1;
    const isLastOfFile = lines[index + 1]?.startsWith('\\') ?? false;
    return `${withoutReturn(text)}${isLastOfFile ? '\n' : end}`;
  });
}

function nameLine(name: string): string {
  const quoted = quoteName(name);
  return quoted === name && name.includes(' ') ? `${name}\t` : quoted;
}
