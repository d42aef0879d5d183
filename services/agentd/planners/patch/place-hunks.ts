import { type Hunk, withoutReturn } from '#kit/git/patch.ts';

/** Replaces the lines from `from` up to, but without, `to`, counted from 0. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  /** With their line ends. */
  readonly lines: readonly string[];
}

/** Why a hunk has no certain place. */
export interface HunkProblem {
  readonly hunk: Hunk;
  readonly kind: 'absent' | 'several' | 'uncertain' | 'overlap';
  /** Begins with the line of the file that the header names. */
  readonly text: string;
}

export type Placement =
  | { readonly edits: readonly Edit[]; readonly notes: readonly string[] }
  | { readonly problems: readonly HunkProblem[] };

/** `exact` compares carriage returns; `of the file` ignores them, and added lines end as those around them. */
export type LineEnds = 'exact' | 'of the file';

export interface PlacingOptions {
  readonly ends: LineEnds;
  /**
   * Where a line of the file that the patch was made for is now, null if it is gone; both counted from 0. null if the patch does not
   * name that file, or the repository does not have it.
   */
  readonly moves: ((index: number) => number | null) | null;
  /** Where a line of the original file is in `lines`, both counted from 0. There may be two readings. */
  readonly positions: (index: number) => readonly number[];
}

/** Lines with their line ends. One character is one byte, so that every file has lines and no byte is lost. */
export function linesOf(content: Uint8Array): string[] {
  if (content.length === 0) return [];
  return Buffer.from(content)
    .toString('latin1')
    .split(/(?<=\n)/);
}

/** Text of a patch in the form of `linesOf`. */
export function bytesText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

export function shownText(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8');
}

/**
 * Places each hunk at the line in its header if it matches there, otherwise at the only place where it matches. Several places or
 * none are a problem. The lines of all hunks are those of the file before the change.
 */
export function placeHunks(
  lines: readonly string[],
  hunks: readonly Hunk[],
  options: PlacingOptions,
): Placement {
  const keys = options.ends === 'exact' ? lines : lines.map(folded);
  const found = hunks.map((hunk) => {
    const body = bodyOf(hunk, options.ends);
    return { hunk, body, ...placesOf(keys, body, hunk, options) };
  });
  const moved = found.some(({ atHeader, places }) => atHeader.length === 0 && places.length === 1);
  const problems: HunkProblem[] = [];
  const notes: string[] = [];
  const placed: PlacedHunk[] = [];
  for (const one of found) {
    const chosen = choose(one, options.moves, moved);
    if ('kind' in chosen) problems.push({ hunk: one.hunk, ...chosen });
    else {
      placed.push({ hunk: one.hunk, body: one.body, at: chosen.at });
      if (chosen.note !== null) notes.push(chosen.note);
    }
  }
  problems.push(...overlaps(placed));
  if (problems.length > 0) return { problems };
  const edits = placed.flatMap(({ body, at }) => editsOf(body, at, lines, options.ends));
  return { edits: edits.toSorted((a, b) => a.from - b.from || a.to - b.to), notes };
}

/** The lines after the edits, which are sorted and do not overlap. */
export function edited<T>(
  lines: readonly T[],
  edits: readonly { readonly from: number; readonly to: number; readonly lines: readonly T[] }[],
): T[] {
  const result: T[] = [];
  let at = 0;
  for (const { from, to, lines: added } of edits) {
    for (; at < from; at += 1) result.push(lines[at]!);
    for (const line of added) result.push(line);
    at = to;
  }
  for (; at < lines.length; at += 1) result.push(lines[at]!);
  return result;
}

interface BodyLine {
  readonly sign: ' ' | '-' | '+';
  /** With a line feed, except at an end of file without one. */
  readonly text: string;
}

interface PlacedHunk {
  readonly hunk: Hunk;
  readonly body: readonly BodyLine[];
  readonly at: number;
}

interface Found {
  readonly hunk: Hunk;
  readonly body: readonly BodyLine[];
  /** Places that the header can mean and that match. */
  readonly atHeader: readonly number[];
  /** Everywhere that it matches, at most `maxPlaces`; empty for an insertion without context. */
  readonly places: readonly number[];
}

type Chosen = { readonly at: number; readonly note: string | null } | Omit<HunkProblem, 'hunk'>;

const maxPlaces = 50;

function choose(
  { hunk, body, atHeader, places }: Found,
  moves: PlacingOptions['moves'],
  moved: boolean,
): Chosen {
  const line = hunk.old_start;
  const where = `line ${line}`;
  const bare = oldSide(body).length === 0;
  if (atHeader.length > 1) {
    return {
      kind: 'several',
      text: `${where}: the hunk fits in several places, ${listed(atHeader)}, depending on whether its line is counted before or after the earlier parts of the same text`,
    };
  }
  const [at] = atHeader;
  if (at === undefined) {
    if (bare) {
      return {
        kind: 'uncertain',
        text: `${where}: the file has no such line, and an insertion without context fits nowhere else`,
      };
    }
    if (places.length === 1) return { at: places[0]!, note: movedNote(line, places[0]!) };
    if (places.length === 0) return { kind: 'absent', text: `${where}: the lines of the hunk are not there` };
    return {
      kind: 'several',
      text: `${where}: the lines of the hunk are not there, but in ${counted(places)} places: ${listed(places)}`,
    };
  }
  if (!bare && places.length === 1) return { at, note: null };
  if (moves !== null) {
    if (stayed(hunk, oldSide(body).length, at, moves)) return { at, note: null };
    return {
      kind: 'uncertain',
      text: `${where}: the file has changed since the patch was made, and what was at this line then is elsewhere now`,
    };
  }
  if (bare) {
    if (moved) {
      return {
        kind: 'uncertain',
        text: `${where}: the insertion has no context, and other parts of the file have moved since the patch was made`,
      };
    }
    return {
      at,
      note: `inserted after line ${at} as the patch says; it has no context lines, so the place is not verified`,
    };
  }
  if (moved) {
    return {
      kind: 'several',
      text: `${where}: the lines of the hunk are in ${counted(places)} places (${listed(places)}), and other parts of the file have moved since the patch was made`,
    };
  }
  const others = places.filter((place) => place !== at);
  return {
    at,
    note: `applied at line ${at + 1} as the patch says; its lines are also in ${counted(others)} other ${others.length === 1 ? 'place' : 'places'}: ${listed(others)}`,
  };
}

/** True if the lines of the hunk, or those on both sides of an insertion without context, are now where the hunk fits. */
function stayed(
  { old_start }: Hunk,
  count: number,
  at: number,
  moves: NonNullable<PlacingOptions['moves']>,
): boolean {
  const first = old_start - 1;
  const shift = count === 0 ? at - old_start : at - first;
  const indexes = Array.from({ length: count === 0 ? 2 : count }, (_, index) => first + index);
  return indexes.every((index) => moves(index) === index + shift);
}

/** `moves` of a file from what git's diff without context says of it. */
export function movesOf(hunks: readonly Hunk[]): (index: number) => number | null {
  const changes = hunks.map(({ old_start, lines }) => {
    const removed = lines.filter((line) => line.startsWith('-')).length;
    const added = lines.filter((line) => line.startsWith('+')).length;
    const from = removed === 0 ? old_start : old_start - 1;
    return { from, to: from + removed, shift: added - removed };
  });
  return (index) => {
    const before = changes.filter(({ from }) => from <= index);
    if (index < 0) return index;
    if (before.some(({ to }) => index < to)) return null;
    return before.reduce((at, { shift }) => at + shift, index);
  };
}

function movedNote(line: number, at: number): string {
  return `the patch says line ${line}; applied at line ${at + 1}, the only place where its lines are`;
}

function counted(places: readonly number[]): string {
  return places.length < maxPlaces ? String(places.length) : `${maxPlaces} or more`;
}

function listed(places: readonly number[]): string {
  const shown = places.slice(0, 5).map((place) => place + 1);
  return `${shown.length === 1 ? 'line' : 'lines'} ${shown.join(', ')}${places.length > shown.length ? ', …' : ''}`;
}

function placesOf(
  keys: readonly string[],
  body: readonly BodyLine[],
  hunk: Hunk,
  { positions }: PlacingOptions,
): Pick<Found, 'atHeader' | 'places'> {
  const old = oldSide(body);
  const open = newSide(body).findIndex((line) => !line.endsWith('\n'));
  // A line without a line break is the last of the file.
  const fits = (at: number) =>
    open < 0 || (open === newSide(body).length - 1 && at + old.length === keys.length);
  if (old.length === 0) {
    const index = hunk.old_start;
    const starts = index === 0 ? [0] : positions(index - 1).map((at) => at + 1);
    const atHeader = starts.filter((at) => isBetweenLines(keys, at) && fits(at));
    return { atHeader: [...new Set(atHeader)], places: [] };
  }
  const starts = positions(hunk.old_start - 1);
  const atHeader = starts.filter((at) => at >= 0 && fits(at) && matchesAt(keys, old, at));
  return { atHeader: [...new Set(atHeader)], places: occurrences(keys, old).filter(fits) };
}

/** False behind a last line that has no line break. */
function isBetweenLines(keys: readonly string[], at: number): boolean {
  return at >= 0 && at <= keys.length && (at === 0 || keys[at - 1]!.endsWith('\n'));
}

function matchesAt(keys: readonly string[], old: readonly string[], at: number): boolean {
  return at + old.length <= keys.length && old.every((line, index) => keys[at + index] === line);
}

/** Knuth, Morris and Pratt's search, so that repeated lines cost no more than others. */
function occurrences(keys: readonly string[], old: readonly string[]): number[] {
  const fallback = new Int32Array(old.length);
  for (let index = 1, length = 0; index < old.length; index += 1) {
    while (length > 0 && old[index] !== old[length]) length = fallback[length - 1]!;
    if (old[index] === old[length]) length += 1;
    fallback[index] = length;
  }
  const found: number[] = [];
  for (let index = 0, length = 0; index < keys.length && found.length < maxPlaces; index += 1) {
    while (length > 0 && keys[index] !== old[length]) length = fallback[length - 1]!;
    if (keys[index] === old[length]) length += 1;
    if (length < old.length) continue;
    found.push(index - old.length + 1);
    length = fallback[length - 1]!;
  }
  return found;
}

function overlaps(placed: readonly PlacedHunk[]): HunkProblem[] {
  const ranges = placed
    .map(({ hunk, body, at }) => ({ hunk, from: at, to: at + oldSide(body).length }))
    .sort((a, b) => a.from - b.from || a.to - b.to);
  return ranges.flatMap(({ hunk, from, to }, index): HunkProblem[] => {
    const before = ranges[index - 1];
    if (before === undefined) return [];
    const bothInsert = before.from === before.to && from === to && before.to === from;
    if (before.to <= from && !bothInsert) return [];
    const text = `line ${hunk.old_start}: the hunk overlaps the hunk for line ${before.hunk.old_start}`;
    return [{ hunk, kind: 'overlap', text }];
  });
}

function bodyOf({ lines }: Hunk, ends: LineEnds): BodyLine[] {
  return lines.flatMap((line, index): BodyLine[] => {
    if (line.startsWith('\\')) return [];
    const sign = line === '' ? ' ' : (line[0] as BodyLine['sign']);
    const text = bytesText(ends === 'exact' ? line.slice(1) : withoutReturn(line.slice(1)));
    return [{ sign, text: lines[index + 1]?.startsWith('\\') ? text : `${text}\n` }];
  });
}

function oldSide(body: readonly BodyLine[]): string[] {
  return body.filter(({ sign }) => sign !== '+').map(({ text }) => text);
}

function newSide(body: readonly BodyLine[]): string[] {
  return body.filter(({ sign }) => sign !== '-').map(({ text }) => text);
}

function folded(line: string): string {
  return line.endsWith('\r\n') ? `${line.slice(0, -2)}\n` : withoutReturn(line);
}

/** Context stays as the file has it. */
function editsOf(body: readonly BodyLine[], at: number, lines: readonly string[], ends: LineEnds): Edit[] {
  const edits: Edit[] = [];
  let index = at;
  let open: { from: number; lines: string[] } | null = null;
  function close(): void {
    if (open !== null) edits.push({ from: open.from, to: index, lines: open.lines });
    open = null;
  }
  for (const { sign, text } of body) {
    if (sign === ' ') {
      close();
      index += 1;
      continue;
    }
    open ??= { from: index, lines: [] };
    if (sign === '-') index += 1;
    else
      open.lines.push(
        ends === 'exact' || !text.endsWith('\n') ? text : text.slice(0, -1) + endNear(lines, index),
      );
  }
  close();
  return edits;
}

/** The line end of the line before, or else of the line behind. */
function endNear(lines: readonly string[], index: number): string {
  const near = [lines[index - 1], lines[index - 2], lines[index]].find((line) => line?.endsWith('\n'));
  return near?.endsWith('\r\n') ? '\r\n' : '\n';
}
