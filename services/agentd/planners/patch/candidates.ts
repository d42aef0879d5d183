import type { PatchAuthor, PatchPlace } from '#kit/contracts/patch-author.ts';
import { type FilePatch, withoutReturn } from '#kit/git/patch.ts';
import type { Influence } from '../../action.ts';
import { commentInfluence, issueInfluence, isTrustedAssociation } from '../../planning/influences.ts';
import { commentPlace, issuePlace, type PlannedIssue } from '../../planning/issue-text.ts';
import type { Author, Comment } from '../../ports/forge.ts';
import { type Commit, inCommitOrder } from './commit-order.ts';
import { type Segment, segmentsOf } from './markdown.ts';
import { type ReadDiffs, readDiffs, type SeriesMark } from './read-diffs.ts';
import { type LinkedRepository, locationIn, type Suggestion } from './suggestions.ts';

const maxSuggestions = 200;

/** A text that a candidate comes from. */
export interface Source {
  /** For people, for example `comment 12 by mira`. */
  readonly label: string;
  /** Names the text among masked secrets. */
  readonly place: string;
  readonly influence: Influence;
  /** Who wrote it. */
  readonly author: Author;
  readonly at: PatchPlace;
}

/** One change that one author proposes, in one text or in the texts of a series. */
export interface Candidate {
  /** At least one, oldest first, all by the same author. */
  readonly sources: readonly Source[];
  /** The patch is in a quote, so its author is not known. */
  readonly quoted: boolean;
  /** Applied one after the other. The line numbers of a part are those before it. */
  readonly parts: readonly (readonly FilePatch[])[];
  /** The same files by the block of text that they are in. */
  readonly blocks: readonly (readonly FilePatch[])[];
  readonly suggestions: readonly Suggestion[];
  /** Why a part of it cannot be used. One is enough to leave the candidate. */
  readonly problems: readonly string[];
  /** Number of blocks that look like a diff and name no file: program output, mostly. */
  readonly nameless: number;
}

/** Candidates in the order of preference: trusted authors, the author of the issue, others, quotes; the newest first in each. */
export function candidatesOf(
  ref: LinkedRepository,
  issue: PlannedIssue,
  comments: readonly Comment[],
): Candidate[] {
  const texts = [
    {
      label: issuePlace,
      place: issuePlace,
      influence: issueInfluence(ref, issue),
      author: issue.author,
      at: { kind: issue.number === null ? 'task' : 'issue', id: null, at: null } as const,
      body: issue.body,
    },
    ...comments.map((comment) => {
      const influence = commentInfluence(comment);
      const { id, author, created_at, body } = comment;
      const at = { kind: 'comment', id, at: created_at } as const;
      return { label: influence.source, place: commentPlace(comment), influence, author, at, body };
    }),
  ];
  const found = joinSeries(texts.flatMap(({ body, ...source }) => candidatesIn(body, source, ref))).reverse();
  const rank = (one: Candidate) => (one.quoted ? 3 : isTrusted(one) ? 0 : isOwn(one, issue) ? 1 : 2);
  return found.sort((left, right) => rank(left) - rank(right));
}

function isTrusted({ quoted, sources }: Candidate): boolean {
  return !quoted && sources[0]!.influence.trusted;
}

/** True for a patch of the issue's author, or of an author who may write to the repository. */
export function isOwn(candidate: Candidate, issue: PlannedIssue): boolean {
  return isTrusted(candidate) || (!candidate.quoted && authorIn(candidate) === issue.author.login);
}

export function authorIn({ sources }: Pick<Candidate, 'sources'>): string {
  return sources[0]!.influence.author ?? 'an unknown author';
}

/** Who wrote a candidate, as the plan records it. */
export function patchAuthorOf(candidate: Candidate, repaired: boolean): PatchAuthor {
  const { sources, quoted } = candidate;
  const { login, association } = sources[0]!.author;
  return {
    kind: 'person',
    login,
    association,
    trusted: isTrustedAssociation(association),
    quoted,
    repaired,
    places: sources.map(({ at }) => at),
  };
}

/** Names a candidate's texts, for people. */
export function labelOf({ sources }: Pick<Candidate, 'sources'>): string {
  const labels = sources.map(({ label }) => label);
  return labels.length < 2 ? labels.join('') : `${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}`;
}

/** What one text holds. */
interface Found extends Candidate {
  /** Parts of a mail series by their number. */
  readonly series: Series | null;
}

interface Series {
  readonly total: number;
  readonly version: number;
  readonly parts: ReadonlyMap<number, readonly FilePatch[]>;
}

function candidatesIn(body: string, source: Source, ref: LinkedRepository): Found[] {
  const segments = segmentsOf(body);
  const own = candidateIn(segments, false, source, ref);
  // A quote does not speak for the author who quotes: the change may be there to be refused.
  const label = `a quote in ${source.label}`;
  const influence = { ...source.influence, trusted: false };
  const quoted = candidateIn(segments, true, { ...source, label, influence }, ref);
  return [own, quoted].filter((candidate) => candidate !== null);
}

function candidateIn(
  segments: readonly Segment[],
  quoted: boolean,
  source: Source,
  ref: LinkedRepository,
): Found | null {
  const blocks: (readonly FilePatch[])[] = [];
  const commits: Commit[] = [];
  const marks: SeriesMark[] = [];
  const suggestions: Suggestion[] = [];
  const problems: string[] = [];
  let nameless = 0;
  for (const [index, segment] of segments.entries()) {
    if (segment.quoted !== quoted) continue;
    if (segment.info === 'suggestion') {
      if (suggestions.length + problems.length >= maxSuggestions) continue;
      const suggestion = suggestionIn(segment, segments[index - 1], ref);
      if (typeof suggestion === 'string') problems.push(suggestion);
      else suggestions.push(suggestion);
      continue;
    }
    const read = readDiffs(segment.lines, segment.line);
    if (read.files.length > 0) blocks.push(read.files);
    problems.push(...read.problems);
    marks.push(...read.marks);
    commits.push(...commitsIn(read, commits.at(-1)));
    if (read.files.length + read.problems.length === 0 && looksLikeDiff(segment)) nameless += 1;
  }
  if (suggestions.length + problems.length >= maxSuggestions) {
    problems.push(`it holds more suggestions than the ${maxSuggestions} that one text may hold`);
  }
  if (blocks.length + suggestions.length + problems.length + nameless === 0) return null;
  const files = blocks.flat();
  const series = seriesIn(files, marks);
  const ordered = series === null ? inCommitOrder(commits) : files;
  if (typeof ordered === 'string') problems.push(ordered);
  const parts = files.length === 0 ? [] : [typeof ordered === 'string' ? files : ordered];
  return { sources: [source], quoted, parts, blocks, suggestions, problems, nameless, series };
}

/** The commits of one segment. A diff in a block may follow its `commit ID` in the prose above. */
function commitsIn({ files, commits: marks }: ReadDiffs, last: Commit | undefined): Commit[] {
  const above = last !== undefined && last.files.length === 0 ? last.mark : null;
  const first = marks[0]?.line ?? Number.POSITIVE_INFINITY;
  const within = (from: number, to: number) => files.filter(({ line }) => from < line && line < to);
  const before = within(Number.NEGATIVE_INFINITY, first);
  const marked = marks.map((mark, at) => ({
    mark,
    files: within(mark.line, marks[at + 1]?.line ?? Number.POSITIVE_INFINITY),
  }));
  return before.length === 0 ? marked : [{ mark: above, files: before }, ...marked];
}

/** The parts of a series that one text holds; null if its patches are not of a series of more than one. */
function seriesIn(files: readonly FilePatch[], marks: readonly SeriesMark[]): Series | null {
  const [first] = marks;
  if (first === undefined || first.total < 2 || files.length === 0) return null;
  const parts = new Map<number, FilePatch[]>();
  for (const file of files) {
    const mark = marks.findLast(({ line }) => line < file.line);
    if (mark === undefined || mark.total !== first.total || mark.version !== first.version) return null;
    parts.set(mark.part, [...(parts.get(mark.part) ?? []), file]);
  }
  return { total: first.total, version: first.version, parts };
}

/** Joins the texts of each series, in the place of its newest one. @param found oldest first */
function joinSeries(found: readonly Found[]): Candidate[] {
  const joined: Found[] = [];
  for (const one of found) {
    const at = joined.findIndex((earlier) => isContinued(earlier, one));
    const earlier = at < 0 ? null : joined.splice(at, 1)[0]!;
    joined.push(earlier === null ? one : together(earlier, one));
  }
  return joined.map(inOrder);
}

function isContinued(earlier: Found, later: Found): boolean {
  const [one, other] = [earlier.series, later.series];
  if (one === null || other === null || earlier.quoted !== later.quoted) return false;
  const author = ({ sources }: Found) => sources[0]!.influence.author;
  if (author(earlier) === null || author(earlier) !== author(later)) return false;
  return one.total === other.total && one.version === other.version && missingParts(one).length > 0;
}

function together(earlier: Found, later: Found): Found {
  const parts = new Map([...earlier.series!.parts, ...later.series!.parts]);
  return {
    ...later,
    sources: [...earlier.sources, ...later.sources],
    blocks: [...earlier.blocks, ...later.blocks],
    suggestions: [...earlier.suggestions, ...later.suggestions],
    problems: [...earlier.problems, ...later.problems],
    nameless: earlier.nameless + later.nameless,
    series: { ...later.series!, parts },
  };
}

function missingParts({ parts, total }: Series): number[] {
  return Array.from({ length: total }, (_, index) => index + 1).filter((part) => !parts.has(part));
}

function inOrder({ series, ...candidate }: Found): Candidate {
  if (series === null) return candidate;
  const missing = missingParts(series);
  const parts = [...series.parts].sort(([one], [other]) => one - other).map(([, files]) => files);
  if (missing.length === 0) return { ...candidate, parts, blocks: [] };
  const what = `${missing.length === 1 ? 'part' : 'parts'} ${missing.join(', ')} of ${series.total}`;
  const problem = `it is a series of ${series.total} patches, and ${what} ${missing.length === 1 ? 'is' : 'are'} missing; the same author can add ${missing.length === 1 ? 'it' : 'them'} in a comment`;
  return { ...candidate, parts, problems: [...candidate.problems, problem] };
}

function suggestionIn(
  segment: Segment,
  above: Segment | undefined,
  ref: LinkedRepository,
): Suggestion | string {
  const prose = above?.kind === 'prose' && above.quoted === segment.quoted ? above.lines : [];
  const location = locationIn(prose, ref);
  if (typeof location === 'string') return `line ${segment.line - 1}: ${location}`;
  return { ...location, lines: segment.lines.map(withoutReturn) };
}

function looksLikeDiff({ kind, info, lines }: Segment): boolean {
  const language = info.split(/[\s{]/)[0]!.toLowerCase();
  return (
    kind === 'block' && /^(diff|patch|udiff)$/.test(language) && lines.some((line) => /^[-+]/.test(line))
  );
}
