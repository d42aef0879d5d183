import { isTellingLetter, joined, partsOf, readable, soughtOf, termsOfWord, wholesOfPath } from './words.ts';

export interface QueryTerm {
  readonly term: string;
  /** As the query has it. */
  readonly written: string;
  /** How often it counts. */
  readonly weight: number;
}

/** Lines that tools add to the message of a change: they name people, not things. */
const trailer =
  /^[ \t]*(signed-off-by|co-authored-by|co-developed-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|approved-by|change-id|cherry-picked-from|git-svn-id|reviewed-on|cc)[ \t]*:.*$/gim;

export function withoutTrailers(message: string): string {
  return message.replace(trailer, '');
}

/** What an address says lies behind its host. */
const address = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/]{1,200}/gi;

const word = /[\p{L}\p{M}\p{N}_$]+/gu;

/** A word, an identifier, a path, a dotted name, a frame of a stack trace: what is written without a space. Or an emoji. */
const unit =
  /[\p{L}\p{M}\p{N}_$]+(?:[.\/\\:#@\-]{1,3}[\p{L}\p{M}\p{N}_$]+)*|\p{RI}{2}|[\p{Extended_Pictographic}--[©®™]]/gv;

/** Of a path or dotted name with more parts, the last ones alone are looked for as one. */
const maxJoined = 4;

/**
 * Reads a query, none of which is syntax. What stands above a first empty line, the subject of a message, counts twice. Words that
 * stand in the messages of all sorts of changes count where there is nothing else.
 */
export function queryTerms(query: string): QueryTerm[] {
  const terms = new Map<string, QueryTerm>();
  const noise = new Map<string, QueryTerm>();
  const text = withoutTrailers(readable(query)).replace(address, ' ').trim();
  const subjectEnd = Math.max(0, text.search(/\n\s*\n/));
  for (const { 0: written, index } of text.matchAll(unit)) {
    const weight = index < subjectEnd ? subjectWeight : 1;
    const words = written.match(word) ?? [written];
    if (words.length > 1 || partsOf(written).length > 1) addIdentifier(terms, written, words, weight);
    else if (!isStopWord(written)) addWord(isNoise(written) ? noise : terms, written, weight);
  }
  return [...(terms.size > 0 ? terms : noise).values()];
}

const subjectWeight = 2;

function addIdentifier(
  terms: Map<string, QueryTerm>,
  written: string,
  words: readonly string[],
  weight: number,
): void {
  for (const each of words) if (words.length === 1 || !isStopWord(each)) addWord(terms, each, weight);
  if (words.length === 1) return;
  if (words.length <= maxJoined) add(terms, { term: joined(written), written, weight });
  for (const term of wholesOfPath(written)) add(terms, { term, written, weight });
}

function addWord(terms: Map<string, QueryTerm>, written: string, weight: number): void {
  for (const term of soughtOf(termsOfWord(written))) add(terms, { term, written, weight });
}

function add(terms: Map<string, QueryTerm>, term: QueryTerm): void {
  if (term.term.length < 2 && !isTellingLetter(term.term)) return;
  const known = terms.get(term.term);
  if (known === undefined || known.weight < term.weight) terms.set(term.term, term);
}

/** True if a word says nothing of what is looked for. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase());
}

/** Whether a word stands in the messages of all sorts of changes. */
function isNoise(word: string): boolean {
  return noise.has(word.toLowerCase());
}

const stopWords = wordsOf(`
  a about above after again against all also although always am an and any are as at be because been before being below between
  both but by can cannot could did do does doing done down during each either else even ever every few for from further get gets
  give given gives had has have having he her here hers him his how however i if in into is it its itself just let lets like
  made make makes many may me might more most much must my need needs neither never no nor not now of off on once one only or
  other others our ours out over own per rather same she should since so some such than that the their theirs them themselves
  then there therefore these they this those though through thus to too toward towards under until up upon us use used uses
  using very via want was we well were what when where whether which while who whom whose why will with within without would
  yet you your yours am myself himself herself yourself yourselves ourselves s t d m ll re ve please currently instead still already etc ie eg vs don doesn didn isn wasn won aren couldn shouldn wouldn
  hasn haven hadn`);

const noise = wordsOf(`
  fix fixes fixed fixing add adds added adding update updates updated updating remove removes removed removing change changes
  changed changing improve improves improved improvement improvements bug bugs feat feature chore refactor refactors refactored
  refactoring issue issues support supports implement implements implemented allow allows allowed avoid avoids ensure ensures
  revert reverts reverted minor cleanup bump new better correctly properly`);

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''));
}
