import { type FilePatch, type Hunk, quoteName, stripped, withoutReturn } from '#kit/git/patch.ts';

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

export function renderPatch({ file, old_path, new_path }: ResolvedPatch, ends: LineEnds): string {
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
  const body = file.hunks.flatMap((hunk) => [`${hunk.header}\n`, ...hunkLines(hunk, ends)]);
  return [...[...lines, ...file.binary].map((line) => `${line}\n`), ...body].join('');
}

function hunkLines({ old_start, lines }: Hunk, ends: LineEnds): string[] {
  let at = old_start - 1;
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

interface Location {
  readonly path: string;
  /** Lines from 1, both included. */
  readonly from: number;
  readonly to: number;
}

/** A fenced suggestion: lines that replace others. */
export interface Suggestion extends Location {
  readonly lines: readonly string[];
}

const looksBack = 4;
const path = String.raw`(?<path>[^\s\x60"'()<>\[\]]+?|\x60[^\x60]+?\x60)`;
const number = String.raw`(?<from>\d{1,7})(?:\s*(?:-|–|to|bis)\s*L?(?<to>\d{1,7}))?`;
const forms: readonly RegExp[] = [
  // A permanent link to lines of a file on a forge.
  /https?:\/\/\S+?\/(?:blob|src\/commit|src\/branch)\/[^/\s]+\/(?<path>[^\s#)]+)#L(?<from>\d{1,7})(?:-L?(?<to>\d{1,7}))?/u,
  new RegExp(`${path}#L${number}`, 'u'),
  new RegExp(`${path}:L?${number}(?![\\w/])`, 'u'),
  new RegExp(`${path}\\x60?\\s*[,:(]?\\s*(?:at\\s+|on\\s+)?lines?\\s+${number}`, 'iu'),
];

/** Reads file and lines from the prose before a suggestion, the nearest line first; null where there is none. */
export function locationIn(prose: readonly string[]): Location | null {
  const near = prose.filter((line) => line.trim() !== '').slice(-looksBack);
  for (const line of near.reverse()) {
    // Bounds the work of the patterns.
    const text = line.slice(0, 300).replaceAll('**', '');
    for (const form of forms) {
      const groups = form.exec(text)?.groups;
      if (groups === undefined) continue;
      const from = Number(groups.from);
      const to = Number(groups.to ?? groups.from);
      const name = decodedPath(groups.path!.replaceAll('`', ''), text);
      return { path: name.replace(/^\.?\//, ''), from: Math.min(from, to), to: Math.max(from, to) };
    }
  }
  return null;
}

function decodedPath(name: string, line: string): string {
  if (!line.includes('://')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * A hunk that makes all suggestions for one file at once, with the file's own line ends.
 * @param suggestions at least one
 * @returns the hunk, or in words why there is none
 */
export function suggestionPatch(
  content: string,
  suggestions: readonly Suggestion[],
): { readonly hunk: string } | { readonly problem: string } {
  const lines = content.split(/(?<=\n)/);
  const changed = [...lines];
  let first = Number.POSITIVE_INFINITY;
  for (const { from, to, lines: replacement } of suggestions.toSorted((a, b) => b.from - a.from)) {
    if (from < 1 || to > lines.length)
      return { problem: `lines ${from} to ${to} are asked for, and the file has ${lines.length}` };
    if (to >= first) return { problem: `two suggestions replace line ${first}` };
    first = from;
    const lineEnd = lines[from - 1]!.endsWith('\r\n') ? '\r\n' : '\n';
    const lastEnd = lines[to - 1]!.endsWith('\n') ? lineEnd : '';
    const added = replacement.map(
      (line, index) => line + (index + 1 < replacement.length ? lineEnd : lastEnd),
    );
    changed.splice(from - 1, to - from + 1, ...added);
  }
  const last = Math.max(...suggestions.map(({ to }) => to));
  const before = lines.slice(Math.max(0, first - 4), first - 1);
  const removed = lines.slice(first - 1, last);
  const added = changed.slice(first - 1, last + changed.length - lines.length);
  const after = lines.slice(last, last + 3);
  const around = before.length + after.length;
  const start = first - before.length;
  const newStart = around + added.length === 0 ? start - 1 : start;
  const head = `@@ -${start},${around + removed.length} +${newStart},${around + added.length} @@\n`;
  const body = [signed(' ', before), signed('-', removed), signed('+', added), signed(' ', after)];
  return { hunk: head + body.join('') };
}

function signed(sign: ' ' | '-' | '+', lines: readonly string[]): string {
  const ended = lines.map((line) => (line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`));
  return ended.map((line) => sign + line).join('');
}
