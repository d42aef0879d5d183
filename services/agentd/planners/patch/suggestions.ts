import type { Repository } from '../../ports/forge.ts';
import { bytesText, type Edit } from './file-lines.ts';
import { movesSinceCommit } from './named-blobs.ts';

interface Location {
  readonly path: string;
  /** Lines from 1, both included. */
  readonly from: number;
  readonly to: number;
  /** Id, maybe abbreviated, of the commit whose lines are counted; null for the base. */
  readonly commit: string | null;
}

/** A fenced suggestion: lines that replace others. */
export interface Suggestion extends Location {
  readonly lines: readonly string[];
}

export type LinkedRepository = Pick<Repository, 'owner' | 'repo' | 'default_branch'>;

/** Bounds the work of the patterns, in characters. */
const maxParagraph = 1000;
const path = String.raw`(?<path>[^\s\x60"'()<>\[\]]+?|\x60[^\x60]+?\x60)`;
const number = String.raw`(?<from>\d{1,7})(?:\s*(?:-|–|to|bis)\s*L?(?<to>\d{1,7}))?(?![\w/])`;
const more = String.raw`(?<more>\s*(?:and|or|und|oder|&|\+)\s*(?:lines?\s+)?L?\d{1,7}\b)?`;
/** Stands in the text for the place of the suggestion, and for a link to anything else. */
const placeMark = '\0';
const otherLink = 'https';
const aheadWords = new Set(
  'a also an and at change edit file fix following for i in line lines now of on please propose replace see set should suggest suggested suggestion the then this update use we would write'.split(
    ' ',
  ),
);
const behindWords = new Set([
  ...aheadWords,
  ...'as be become becomes below block by code could follows instead it like make read so that to try with'.split(
    ' ',
  ),
]);
/** A permanent link to lines of a file on a forge. */
const link =
  /https?:\/\/(?<site>\S+?)\/(?:blob|src\/commit|src\/branch)\/(?<rest>[^\s#)>]+)#L(?<from>\d{1,7})(?:C\d+)?(?:-L?(?<to>\d{1,7})(?:C\d+)?)?/gu;
const forms: readonly RegExp[] = [
  new RegExp(`${path}#L${number}${more}`, 'gu'),
  new RegExp(`${path}:L?${number}${more}`, 'gu'),
  new RegExp(`${path}\\x60?\\s*[,:(]?\\s*(?:at\\s+|on\\s+)?lines?\\s+${number}${more}`, 'giu'),
  new RegExp(`lines?\\s+${number}${more}\\s+(?:of|in)\\s+${path}(?=[\\s,;:!?)]|\\.?$|\\.\\s)`, 'giu'),
];

/** Reads file and lines from the paragraph above a suggestion, which must name one place. @returns in words why there is none */
export function locationIn(prose: readonly string[], repository: LinkedRepository): Location | string {
  let text = paragraphAbove(prose);
  if (text.length > maxParagraph) {
    return `the paragraph above the suggestion has more than ${maxParagraph} characters; name file and line in a short one`;
  }
  const found: Location[] = [];
  const problems: string[] = [];
  text = text.replaceAll(placeMark, '').replaceAll(/<\/?[a-z][^<>]*>/giu, ' ');
  text = text.replace(link, (...match) => {
    const groups = match.at(-1) as Groups;
    const linked = linkedFile(groups.site!, groups.rest!, repository);
    if (typeof linked === 'string') problems.push(linked);
    else found.push({ ...linked, ...linesIn(groups) });
    return ` ${placeMark} `;
  });
  text = text.replaceAll(/https?:\/\/\S+/gu, ` ${otherLink} `);
  for (const [index, form] of forms.entries()) {
    text = text.replace(form, (...match) => {
      const groups = match.at(-1) as Groups;
      const isNamed = (index < 2 ? /\p{L}/u : /[./`]/).test(groups.path!);
      if (!isNamed) return match[0];
      const name = groups.path!.replaceAll('`', '').replace(/^\.?\//, '');
      if (groups.more !== undefined) problems.push(`it names several places: ${match[0].trim()}`);
      found.push({ path: name, ...linesIn(groups), commit: null });
      return ` ${placeMark} `;
    });
  }
  if (problems.length > 0) return problems[0]!;
  const only = onlyOne(found);
  const others = otherWords(text);
  if (typeof only === 'string' || others.length === 0) return only;
  const words = others.map((word) => `"${word}"`);
  return `the paragraph above the suggestion names ${placeText(only)} and also says ${words.slice(0, 5).join(', ')}, so it may not be the place to change; give file and line in a sentence of their own, for example "${placeText(only)}:"`;
}

/** Unknown words of the sentence that names the place and of those after it; they may say more than the place. */
function otherWords(text: string): string[] {
  const sentences = text.split(/[.!?](?=\s|$)/u);
  const from = sentences.findLastIndex((sentence) => sentence.includes(placeMark));
  const [ahead = '', ...rest] = (sentences[from] ?? '').split(placeMark);
  const words = (of: string) => of.match(/\p{L}[\p{L}\p{N}'’_-]*/gu) ?? [];
  const later = [...rest, ...sentences.slice(from + 1)].flatMap(words);
  return [
    ...words(ahead).filter((word) => !aheadWords.has(word.toLowerCase())),
    ...later.filter((word) => !behindWords.has(word.toLowerCase())),
  ];
}

type Groups = Readonly<Record<string, string | undefined>>;

function paragraphAbove(prose: readonly string[]): string {
  const isText = (line: string) => line.trim() !== '';
  const lines = prose.slice(0, prose.findLastIndex(isText) + 1);
  const blank = lines.findLastIndex((line) => !isText(line));
  return lines
    .slice(blank + 1)
    .join(' ')
    .replaceAll('**', '');
}

function onlyOne(found: readonly Location[]): Location | string {
  const places = new Map<string, Location>();
  for (const one of found) {
    const key = placeText(one);
    const other = places.get(key);
    if (other !== undefined && other.commit !== null && one.commit !== null && other.commit !== one.commit) {
      return `it names ${key} in two commits, ${other.commit} and ${one.commit}`;
    }
    // The text of a link often repeats its place.
    if (other === undefined || other.commit === null) places.set(key, one);
  }
  const [only, ...others] = places.values();
  if (only === undefined) return 'the suggestion does not say which file and lines it replaces';
  if (others.length === 0) return only;
  return `it names several places: ${[...places.keys()].slice(0, 5).join(', ')}`;
}

function placeText({ path: name, from, to }: Location): string {
  return from === to ? `${name}:${from}` : `${name}:${from}-${to}`;
}

function linesIn(groups: Groups): Pick<Location, 'from' | 'to'> {
  const [from, to] = [Number(groups.from), Number(groups.to ?? groups.from)];
  return { from: Math.min(from, to), to: Math.max(from, to) };
}

/** A branch may have moved on or be another one: only the default branch is what the suggestion is applied to. */
function linkedFile(
  site: string,
  rest: string,
  { owner, repo, default_branch }: LinkedRepository,
): Pick<Location, 'path' | 'commit'> | string {
  const file = decoded(rest.replace(/\?.*$/, ''));
  const [, commit, below] = /^([0-9a-f]{7,64})\/(.+)$/.exec(file) ?? [];
  if (commit !== undefined) return { commit, path: below! };
  const branch = [default_branch, 'HEAD'].find((name) => file.startsWith(`${name}/`));
  if (branch === undefined) {
    return `the link to ${file} names neither a commit nor the branch ${default_branch}; give a permanent link, or file and line`;
  }
  const here = `/${owner}/${repo}`.toLowerCase();
  if (!site.toLowerCase().replace(/\/-$/, '').endsWith(here)) {
    return `the link is to another repository than ${owner}/${repo}: ${site}`;
  }
  return { commit: null, path: file.slice(branch.length + 1) };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A suggestion with its lines in the file as it is now, and what a reviewer must know of that place. */
export async function placedNow(
  gitDir: string,
  suggestion: Suggestion,
  content: Uint8Array,
): Promise<{ readonly placed: Suggestion; readonly note: string | null } | string> {
  const { path: name, from, to, commit } = suggestion;
  const lines = from === to ? `line ${from}` : `lines ${from} to ${to}`;
  if (commit === null) {
    const note = `${lines} replaced as the text says; a suggestion does not show the lines that it replaces, so the place is not verified`;
    return { placed: suggestion, note };
  }
  const moves = await movesSinceCommit(gitDir, commit, name, content);
  if (typeof moves === 'string') return moves;
  const start = moves(from - 1);
  for (let index = from; start !== null && index <= to; index += 1) {
    if (moves(index - 1) !== start + index - from) return `${lines} of commit ${commit} changed since`;
  }
  if (start === null) return `${lines} of commit ${commit} changed since`;
  const placed = { ...suggestion, from: start + 1, to: start + 1 + to - from };
  const note =
    placed.from === from ? null : `the text says ${lines} of commit ${commit}; now at line ${placed.from}`;
  return { placed, note };
}

/**
 * What all suggestions for one file change, with the file's own line ends.
 * @param lines as `linesOf` gives them
 * @returns edits, or in words why there are none
 */
export function suggestionEdits(
  lines: readonly string[],
  suggestions: readonly Suggestion[],
): readonly Edit[] | { readonly problem: string } {
  const edits: Edit[] = [];
  let behind = 0;
  for (const { from, to, lines: replacement } of suggestions.toSorted((a, b) => a.from - b.from)) {
    if (from < 1 || to > lines.length)
      return { problem: `lines ${from} to ${to} are asked for, and the file has ${lines.length}` };
    if (from <= behind) return { problem: `two suggestions replace line ${from}` };
    behind = to;
    const lineEnd = lines[from - 1]!.endsWith('\r\n') ? '\r\n' : '\n';
    const lastEnd = lines[to - 1]!.endsWith('\n') ? lineEnd : '';
    const added = replacement.map(
      (line, index) => bytesText(line) + (index + 1 < replacement.length ? lineEnd : lastEnd),
    );
    edits.push({ from: from - 1, to, lines: added });
  }
  return edits;
}
