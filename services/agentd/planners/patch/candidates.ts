import { type FilePatch, scanPatches, withoutReturn } from '#kit/git/patch.ts';
import type { Influence } from '../../action.ts';
import { commentInfluence, issueInfluence } from '../../planning/influences.ts';
import { commentPlace, issuePlace, type PlannedIssue } from '../../planning/issue-text.ts';
import type { Comment, RepositoryRef } from '../../ports/forge.ts';
import { type Segment, segmentsOf } from './markdown.ts';
import { locationIn, type Suggestion } from './render-patch.ts';

const maxSuggestions = 200;

/** What one text proposes, as one change. */
export interface Candidate {
  /** For people, for example `comment 12 by mira`. */
  readonly label: string;
  readonly influence: Influence;
  /** The text that it stands in. */
  readonly place: string;
  /** Somebody else's words in a quote, so that they speak for nobody. */
  readonly quoted: boolean;
  /** Applied one after the other. The line numbers of a part are those before it. */
  readonly parts: readonly (readonly FilePatch[])[];
  readonly suggestions: readonly Suggestion[];
  /** Why a part of it cannot be used. One is enough to leave the candidate. */
  readonly problems: readonly string[];
  /** Blocks that look like a diff and name no file: program output, mostly. */
  readonly nameless: number;
}

/** Candidates in the order in which they are tried: trusted authors, then others, then quotes; the newest first in each. */
export function candidatesOf(
  ref: RepositoryRef,
  issue: PlannedIssue,
  comments: readonly Comment[],
): Candidate[] {
  const texts = [
    { label: issuePlace, place: issuePlace, influence: issueInfluence(ref, issue), body: issue.body },
    ...comments.map((comment) => {
      const influence = commentInfluence(comment);
      return { label: influence.source, place: commentPlace(comment), influence, body: comment.body };
    }),
  ];
  const found = texts.reverse().flatMap(({ body, ...who }) => candidatesIn(body, who));
  const rank = ({ quoted, influence }: Candidate) => (quoted ? 2 : influence.trusted ? 0 : 1);
  return found.sort((left, right) => rank(left) - rank(right));
}

type Who = Pick<Candidate, 'label' | 'influence' | 'place'>;

function candidatesIn(body: string, who: Who): Candidate[] {
  const segments = segmentsOf(body);
  const own = candidateIn(segments, false, who);
  // Who quotes a change does not stand behind it: it may be there to be refused.
  const quoted = candidateIn(segments, true, {
    ...who,
    label: `a quote in ${who.label}`,
    influence: { ...who.influence, trusted: false },
  });
  return [own, quoted].filter((candidate) => candidate !== null);
}

function candidateIn(segments: readonly Segment[], quoted: boolean, who: Who): Candidate | null {
  const files: FilePatch[] = [];
  const suggestions: Suggestion[] = [];
  const problems: string[] = [];
  let nameless = 0;
  for (const [index, segment] of segments.entries()) {
    if (segment.quoted !== quoted) continue;
    if (segment.info === 'suggestion') {
      if (suggestions.length + problems.length >= maxSuggestions) continue;
      const suggestion = suggestionIn(segment, segments[index - 1]);
      if (typeof suggestion === 'string') problems.push(suggestion);
      else suggestions.push(suggestion);
      continue;
    }
    const scanned = scanPatches(segment.lines, segment.line);
    files.push(...scanned.files);
    problems.push(...scanned.problems);
    if (scanned.files.length + scanned.problems.length === 0 && looksLikeDiff(segment)) nameless += 1;
  }
  if (suggestions.length + problems.length >= maxSuggestions) {
    problems.push(`it holds more suggestions than the ${maxSuggestions} that one text may hold`);
  }
  if (files.length + suggestions.length + problems.length + nameless === 0) return null;
  return { ...who, quoted, parts: files.length === 0 ? [] : [files], suggestions, problems, nameless };
}

function suggestionIn(segment: Segment, above: Segment | undefined): Suggestion | string {
  const prose = above?.kind === 'prose' && above.quoted === segment.quoted ? above.lines : [];
  const location = locationIn(prose);
  if (location === null) {
    return `line ${segment.line - 1}: the suggestion does not say which file and lines it replaces`;
  }
  return { ...location, lines: segment.lines.map(withoutReturn) };
}

function looksLikeDiff({ kind, info, lines }: Segment): boolean {
  const language = info.split(/[\s{]/)[0]!.toLowerCase();
  return (
    kind === 'block' && /^(diff|patch|udiff)$/.test(language) && lines.some((line) => /^[-+]/.test(line))
  );
}
