import { type Hunk, withoutReturn } from '#kit/git/patch.ts';
import { bytesText, type Edit, occurrences } from './file-lines.ts';

/** Why a hunk has no certain place. */
export interface HunkProblem {
  readonly hunk: Hunk;
  /**
   * `no line`: an insertion without context at a line that the file does not have. `no newline`: the hunk fits at the end of the
   * file, except that the file has no newline there.
   */
  readonly kind: 'absent' | 'no line' | 'no newline' | 'several' | 'uncertain' | 'overlap';
  /** Begins with the line of the file that the header names. */
  readonly text: string;
}

export type Placement =
  | { readonly edits: readonly Edit[]; readonly notes: readonly string[] }
  | { readonly problems: readonly HunkProblem[] };

/** `exact` compares carriage returns; `of the file` ignores them, and added lines end as those around them. */
export type LineEnds = 'exact' | 'of the file';

/** How text of a patch becomes bytes, and what of a line counts when it is compared with the file. */
export interface Reading {
  readonly bytes: (text: string) => string;
  readonly key: (line: string) => string;
  /** True if a last line without a newline fits a line of a hunk that has one. The file then ends without a newline as before. */
  readonly isOpen: boolean;
}

export const plainReading: Reading = { bytes: bytesText, key: (line) => line, isOpen: false };

export interface PlacingOptions {
  readonly ends: LineEnds;
  readonly reading: Reading;
  /**
   * Where a line of the file that the patch was made for is now, null if it is gone; both counted from 0. null if the patch does not
   * name that file, or the repository does not have it.
   */
  readonly moves: ((index: number) => number | null) | null;
  /** Where a line of the original file is in `lines`, both counted from 0. There may be two readings. */
  readonly positions: (index: number) => readonly number[];
}

/**
 * Places each hunk at the line in its header if it matches there, otherwise at the only place where it matches. Several places or
 * none are a problem. The lines of all hunks are those of the file before the change. A last line without a newline counts as a
 * place of a hunk that has one, so that a lost `\ No newline at end of file` moves no hunk to another place.
 */
export function placeHunks(
  lines: readonly string[],
  hunks: readonly Hunk[],
  options: PlacingOptions,
): Placement {
  const { ends, reading } = options;
  const keys = lines.map((line) => reading.key(ends === 'exact' ? line : folded(line)));
  const known = new Set(keys);
  const found = hunks.map((hunk) => {
    const body = bodyOf(hunk, options);
    const places = placesOf({ keys, known }, body, hunk, options);
    const done = isDone(keys, body, isBare(hunk) ? places.atHeader[0] : Math.max(0, hunk.new_start - 1));
    return { hunk, body, done, ...withOpenEnd(places, keys, body, hunk, options) };
  });
  const moved = found.some(({ atHeader, places }) => atHeader.length === 0 && places.length === 1);
  const problems: HunkProblem[] = [];
  const notes: string[] = [];
  const placed: PlacedHunk[] = [];
  for (const one of found) {
    const chosen = choose(one, options, moved);
    if ('kind' in chosen) problems.push({ hunk: one.hunk, ...chosen });
    else {
      placed.push({ hunk: one.hunk, body: one.body, at: chosen.at, isOpen: chosen.at === one.openEnd });
      if (chosen.note !== null) notes.push(chosen.note);
    }
  }
  problems.push(...overlaps(placed));
  if (problems.length > 0) return { problems };
  const edits = placed.flatMap(({ body, at, isOpen }) => {
    const own = editsOf(body, at, lines, options.ends);
    return isOpen ? editsOfOpenEnd(own, lines) : own;
  });
  return { edits: edits.toSorted((a, b) => a.from - b.from || a.to - b.to), notes };
}

/**
 * True if all hunks can be taken back, so that the file is as they make it. A hunk that only removes lines must show what is on
 * both sides of them, and so must a hunk that is not at its line, except at the ends of the file.
 */
export function isApplied(lines: readonly string[], hunks: readonly Hunk[], ends: LineEnds): boolean {
  const options = { ends, reading: plainReading, moves: null, positions: (index: number) => [index] };
  const keys = ends === 'exact' ? lines : lines.map(folded);
  const known = new Set(keys);
  return hunks.map(reversed).every((hunk) => {
    const body = bodyOf(hunk, options);
    const isShown = body.some(({ sign }) => sign === '-') || (isContext(body[0]) && isContext(body.at(-1)));
    const { atHeader, places } = placesOf({ keys, known }, body, hunk, options);
    if (!isShown || atHeader.length > 0) return isShown;
    const [at] = places;
    if (at === undefined || places.length > 1) return false;
    const isAtEnd = at + oldSide(body).length === keys.length;
    return (isContext(body[0]) || at === 0) && (isContext(body.at(-1)) || isAtEnd) && body.some(isContext);
  });
}

/** True for an insertion without context. */
export function isBare({ lines }: Hunk): boolean {
  return lines.every((line) => /^[+\\]/.test(line));
}

function isContext(line: BodyLine | undefined): boolean {
  return line?.sign === ' ';
}

/** The hunk that takes the change back. */
function reversed({ lines, old_start, new_start, ...rest }: Hunk): Hunk {
  const turned = (line: string) =>
    line.startsWith('+') ? `-${line.slice(1)}` : line.startsWith('-') ? `+${line.slice(1)}` : line;
  return { ...rest, old_start: new_start, new_start: old_start, lines: lines.map(turned) };
}

interface BodyLine {
  readonly sign: ' ' | '-' | '+';
  /** With a line feed, except at an end of file without one. */
  readonly text: string;
  /** The part of it that is compared. */
  readonly key: string;
}

type Places = Pick<Found, 'atHeader' | 'places'>;

interface PlacedHunk {
  readonly hunk: Hunk;
  readonly body: readonly BodyLine[];
  readonly at: number;
  /** True if its last old line is the last one of the file, which has no newline. */
  readonly isOpen: boolean;
}

interface Found {
  readonly hunk: Hunk;
  readonly body: readonly BodyLine[];
  /** Places that the header can mean and that match. */
  readonly atHeader: readonly number[];
  /** Everywhere that it matches, at most `maxPlaces`; empty for an insertion without context. */
  readonly places: readonly number[];
  /** The place where only the newline at the end of the file is missing; null if there is none. */
  readonly openEnd: number | null;
  /** True if the file is at its line as the hunk makes it; for an insertion without context, if its lines follow already. */
  readonly done: boolean;
}

type Chosen = { readonly at: number; readonly note: string | null } | Omit<HunkProblem, 'hunk'>;

const maxPlaces = 50;

function choose(found: Found, { moves, reading }: PlacingOptions, moved: boolean): Chosen {
  const chosen = chooseAny(found, moves, moved);
  if ('kind' in chosen || chosen.at !== found.openEnd || reading.isOpen) return chosen;
  return {
    kind: 'no newline',
    text: `line ${found.hunk.old_start}: the hunk fits at line ${chosen.at + 1}, but the last line of the file has no newline. The patch has no line \`\\ No newline at end of file\`, or was made for a file that ends with one`,
  };
}

function chooseAny(
  { hunk, body, atHeader, places, openEnd, done }: Found,
  moves: PlacingOptions['moves'],
  moved: boolean,
): Chosen {
  const line = hunk.old_start;
  const where = `line ${line}`;
  const count = oldSide(body).length;
  const bare = isBare(hunk);
  const unmoved = moves === null ? [] : atHeader.filter((at) => stayed(hunk, count, at, moves));
  if (atHeader.length > 1 && unmoved.length !== 1) {
    return {
      kind: 'several',
      text: `${where}: the hunk fits in several places, ${listed(atHeader)}, depending on whether its line is counted before or after the earlier parts of the same text`,
    };
  }
  const [at = atHeader[0]] = unmoved;
  if (at === undefined) {
    if (bare) {
      return {
        kind: 'no line',
        text:
          openEnd !== null
            ? `${where}: the last line of the file has no newline, so a line cannot follow it, and an insertion without context fits nowhere else`
            : `${where}: the file has no such line, and an insertion without context fits nowhere else`,
      };
    }
    if (places.length === 1) {
      const isThere = done
        ? `; line ${hunk.new_start} is already as the patch makes it, so the patch may be applied already`
        : '';
      return { at: places[0]!, note: `${movedNote(line, places[0]!)}${isThere}` };
    }
    if (places.length === 0) return { kind: 'absent', text: `${where}: the lines of the hunk are not there` };
    return {
      kind: 'several',
      text: `${where}: the lines of the hunk are not there, but in ${counted(places)} places: ${listed(places)}`,
    };
  }
  if (!bare && places.length === 1) return { at, note: null };
  if (moves !== null) {
    if (unmoved.length === 1) return { at, note: null };
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
    const isThere = done ? '; the same lines follow there, so the patch may be applied already' : '';
    return {
      at,
      note: `inserted after line ${at} as the patch says; it has no context lines, so the place is not verified${isThere}`,
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
  { keys, known }: { readonly keys: readonly string[]; readonly known: ReadonlySet<string> },
  body: readonly BodyLine[],
  hunk: Hunk,
  { positions }: PlacingOptions,
): Places {
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
  // Most hunks that are nowhere have a line that is nowhere, which costs no search.
  const places = old.every((line) => known.has(line)) ? occurrences(keys, old, maxPlaces) : [];
  return { atHeader: [...new Set(atHeader)], places: places.filter(fits) };
}

/** Adds the place at the end of a file without a newline, if the hunk fits there except for the newline. */
function withOpenEnd(
  { atHeader, places }: Places,
  keys: readonly string[],
  body: readonly BodyLine[],
  hunk: Hunk,
  { positions }: PlacingOptions,
): Omit<Found, 'hunk' | 'body' | 'done'> {
  const old = oldSide(body);
  const at = keys.length - old.length;
  const last = keys.at(-1);
  if (last === undefined || last.endsWith('\n') || at < 0) return { atHeader, places, openEnd: null };
  if (old.length === 0) return { atHeader, places, openEnd: hunk.old_start === at ? at : null };
  const isOpenEnd =
    old.at(-1)?.endsWith('\n') === true &&
    old.at(-1)!.replace(/\r?\n$/, '') === withoutReturn(last) &&
    old.slice(0, -1).every((line, index) => keys[at + index] === line);
  if (!isOpenEnd) return { atHeader, places, openEnd: null };
  const isAtHeader = positions(hunk.old_start - 1).includes(at);
  return { atHeader: isAtHeader ? [...atHeader, at] : atHeader, places: [...places, at], openEnd: at };
}

/** @param at where the hunk would have made its change; undefined if there is no such line */
function isDone(keys: readonly string[], body: readonly BodyLine[], at: number | undefined): boolean {
  return at !== undefined && body.some(({ sign }) => sign === '+') && matchesAt(keys, newSide(body), at);
}

/** False behind a last line that has no line break. */
function isBetweenLines(keys: readonly string[], at: number): boolean {
  return at >= 0 && at <= keys.length && (at === 0 || keys[at - 1]!.endsWith('\n'));
}

function matchesAt(keys: readonly string[], old: readonly string[], at: number): boolean {
  return at + old.length <= keys.length && old.every((line, index) => keys[at + index] === line);
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

function bodyOf({ lines }: Hunk, { ends, reading }: PlacingOptions): BodyLine[] {
  return lines.flatMap((line, index): BodyLine[] => {
    if (line.startsWith('\\')) return [];
    const sign = line === '' ? ' ' : (line[0] as BodyLine['sign']);
    const bytes = reading.bytes(ends === 'exact' ? line.slice(1) : withoutReturn(line.slice(1)));
    const text = lines[index + 1]?.startsWith('\\') ? bytes : `${bytes}\n`;
    return [{ sign, text, key: reading.key(text) }];
  });
}

function oldSide(body: readonly BodyLine[]): string[] {
  return body.filter(({ sign }) => sign !== '+').map(({ key }) => key);
}

function newSide(body: readonly BodyLine[]): string[] {
  return body.filter(({ sign }) => sign !== '-').map(({ key }) => key);
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

/** Edits of a hunk that treats the last line as if it had a newline, for the file without it. */
function editsOfOpenEnd(edits: readonly Edit[], lines: readonly string[]): Edit[] {
  const end = lines.length;
  return edits.map(({ from, to, lines: added }) => {
    if (to < end) return { from, to, lines: added };
    const kept = from === end ? [`${lines[end - 1]}${endNear(lines, end)}`] : [];
    const all = [...kept, ...added];
    const last = all.at(-1)?.replace(/\r?\n$/, '');
    return { from: Math.min(from, end - 1), to, lines: last === undefined ? [] : all.with(-1, last) };
  });
}

/** The line end of the line before, or else of the line behind. */
function endNear(lines: readonly string[], index: number): string {
  const near = [lines[index - 1], lines[index - 2], lines[index]].find((line) => line?.endsWith('\n'));
  return near?.endsWith('\r\n') ? '\r\n' : '\n';
}
