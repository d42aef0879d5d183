import type { DatabaseSync } from 'node:sqlite';
import type { LookupReply, LookupResult } from '#kit/contracts/context/memory.ts';
import { withFallingScores } from '../../search/ranking/order.ts';
import { isTurn, type MemoryRow, memoryFacts, memoryRow } from '../memory-row.ts';
import { newestOfSimilarFirst } from '../similar.ts';
import { isNamed, nameOf, spread, weightOf } from './order.ts';
import {
  type Condition,
  conditionOf,
  contentWords,
  type Filters,
  type Name,
  namesIn,
  wordsOf,
} from './query.ts';
import { knownSources, sourcesMeant } from './sources.ts';
import { collectionOf, type Term, type TextScore, termsOf, textScores } from './text-scores.ts';
import {
  type Asked,
  asksWhen,
  type NeighbourBoost,
  neighboursOf,
  sessionScores,
  turnFactors,
} from './turns.ts';
import { type QueryVector, vectorScores } from './vector-scores.ts';

export interface LookupInput extends Omit<Filters, 'sources'> {
  readonly query: string;
  /** As a caller names it; null: anybody. */
  readonly source: string | null;
  readonly limit: number;
  /** null: words alone. */
  readonly vector?: QueryVector | null;
}

type ScoredWithSubject = TextScore & { readonly subject: string | null };

interface Found {
  readonly row: MemoryRow;
  readonly score: number;
  readonly text: number;
  readonly terms: ReadonlyMap<Term, number>;
  readonly subject: string | null;
  readonly boosts: readonly NeighbourBoost[];
  readonly session: number;
  /** Likeness to the query; undefined where no vectors were compared. */
  readonly vector: number | undefined;
}

const subjectBoost = 1.2;
const sessionShare = 0.5;
/**
 * Of likeness of vectors beside words, both from 0 to 1. Places in place of scores (reciprocal rank fusion) found less, see
 * site/figures.md.
 */
const vectorShare = 0.3;
/** A playbook that always worked gains this much, one that always failed loses it. */
const successNudge = 0.1;
const maxTextLength = 10_000;
const noTerms: ReadonlyMap<Term, number> = new Map();

/** Finds memories as retrieval was measured to work: text, then subject, then the turns beside it and its session. */
export function lookUpMemories(db: DatabaseSync, input: LookupInput): Omit<LookupReply, 'took_ms'> {
  const unknown_about = (input.about ?? []).filter(
    (id) => db.prepare('SELECT 1 FROM nodes WHERE id = ?').get(id) === undefined,
  );
  const { source } = input;
  const sources = source === null ? null : sourcesMeant(db, source);
  const unknown_source =
    source === null || sources!.length > 0 ? null : { source, known: knownSources(db, source) };
  const found = find(db, { ...input, sources });
  const weighed = found.map((one) => ({ row: one.row, one, score: weighedScore(one, input.sessions) }));
  const most = Math.max(...weighed.map(({ score }) => score), Number.MIN_VALUE);
  const name = nameOf(input.query);
  const byScore = weighed
    .map((item) => (isNamed(item.row, name) ? { ...item, score: item.score + most } : item))
    .sort((a, b) => b.score - a.score || b.row.memory - a.row.memory);
  const ranked = newestOfSimilarFirst(db, byScore, hasWordsOf);
  const best = ranked[0]?.score ?? 1;
  const shown = (input.sessions === null ? spread(ranked, input.limit) : ranked).slice(0, input.limit);
  const results = withFallingScores(shown.map(({ one, score }) => resultOf(db, one, score / best)));
  return { results, source: 'record', unknown_about, unknown_source };
}

/** True if the one has every word of the query that the other has. */
function hasWordsOf({ one }: { one: Found }, other: { one: Found }): boolean {
  return [...other.one.terms.keys()].every((term) => one.terms.has(term));
}

function weighedScore({ row, score }: Found, sessions: readonly string[] | null): number {
  return score * weightOf(row, sessions) * (1 + successNudge * (2 * (successOf(row) ?? 0.5) - 1));
}

function find(db: DatabaseSync, input: LookupInput & Filters): Found[] {
  const collection = collectionOf(db);
  if (collection.memories === 0) return [];
  const condition = conditionOf(input);
  const names = namesIn(db, input.query, collection.memories, condition);
  const words = contentWords(wordsOf(input.query));
  const score = (chosen: readonly string[]) => {
    const terms = termsOf(db, chosen, collection, condition);
    return textScores(db, terms, condition, collection, nameOf(input.query));
  };
  const nameless = score(withoutNames(words, names));
  const scored = nameless.length > 0 ? nameless : score(words);
  const likeness = input.vector ? vectorScores(db, input.vector, condition) : null;
  if (scored.length === 0 && !likeness?.size) return [];
  const most = Math.max(...scored.map(({ score }) => score), Number.MIN_VALUE);
  const boosted = scored.map((score) => boost(score, names, most));
  const best = Math.max(...boosted.map(({ score }) => score), Number.MIN_VALUE);
  const normal = boosted.map((score) => ({ ...score, score: score.score / best }));
  const fused = likeness === null ? normal : fuse(db, normal, likeness);
  const asked = { names, when: asksWhen(input.query) };
  return expand(db, fused, condition, { scored, best, likeness, asked });
}

interface Expansion {
  /** By their text alone, before it was normalised by `best`. */
  readonly scored: readonly TextScore[];
  readonly best: number;
  readonly likeness: ReadonlyMap<number, number> | null;
  readonly asked: Asked;
}

/** Adds what turns get from those beside them and from their session. */
function expand(
  db: DatabaseSync,
  normal: readonly ScoredWithSubject[],
  condition: Condition,
  { scored, best, likeness, asked }: Expansion,
): Found[] {
  const { boosts, rows } = neighboursOf(db, normal, condition, asked);
  const sessions = sessionScores(db, scored, best);
  const factorOf = turnFactors(db, asked);
  const beside = rows.map((row) => ({ row, score: 0, terms: noTerms, subject: speakerIn(asked.names, row) }));
  const all = [...normal, ...beside].map(({ row, score, terms, subject }): Found => {
    const own = boosts.get(row.memory) ?? [];
    const session = isTurn(row) ? sessionShare * (sessions.get(row.session!) ?? 0) : 0;
    const sum = own.reduce((total, one) => total + one.score, score + session);
    const vector = likeness === null ? undefined : (likeness.get(row.memory) ?? 0);
    const weighed = isTurn(row) ? sum * factorOf(row) : sum;
    return { row, score: weighed, text: score, terms, subject, boosts: own, session, vector };
  });
  // What turns gain from each other orders them; it does not lift them above memories of other layers.
  const [text, sum] = all.reduce(
    ([t, s], { row, text, score }) => (isTurn(row) ? [Math.max(t, text), Math.max(s, score)] : [t, s]),
    [0, 0],
  );
  return all.map((found) => (isTurn(found.row) ? { ...found, score: (found.score * text) / sum } : found));
}

function speakerIn(names: readonly Name[], { speaker_name }: MemoryRow): string | null {
  return names.find(({ name }) => name === speaker_name)?.name ?? null;
}

/** Words and likeness in one score; what words alone did not find is found by likeness. */
function fuse(
  db: DatabaseSync,
  byWords: readonly ScoredWithSubject[],
  likeness: ReadonlyMap<number, number>,
): ScoredWithSubject[] {
  const most = Math.max(...likeness.values(), Number.MIN_VALUE);
  const shareOf = (memory: number) => (vectorShare * (likeness.get(memory) ?? 0)) / most;
  const known = new Set(byWords.map(({ row }) => row.memory));
  const others = [...likeness.keys()].filter((memory) => !known.has(memory));
  return [
    ...byWords.map((one) => ({
      ...one,
      score: (1 - vectorShare) * one.score + shareOf(one.row.memory),
    })),
    ...others.map((memory) => ({
      row: memoryRow(db, memory),
      score: shareOf(memory),
      terms: noTerms,
      counts: noTerms,
      subject: null,
    })),
  ];
}

/** @param max the best score of any: who is about what the query names by a name that is no mere word comes before the others */
function boost(score: TextScore, names: readonly Name[], max: number): ScoredWithSubject {
  const { subject_name, speaker_name } = score.row;
  const named = names.find(({ name }) => name === subject_name || name === speaker_name);
  if (named === undefined) return { ...score, subject: null };
  const isMeant = named.name === subject_name && !named.common && !isWord(named.name);
  return { ...score, score: score.score * subjectBoost + (isMeant ? max : 0), subject: named.name };
}

function isWord(name: string): boolean {
  return /^[\p{L}\p{M}]+$/u.test(name);
}

/** Common names are taken out; every word stays where nothing else would. */
function withoutNames(words: readonly string[], names: readonly Name[]): string[] {
  const common = new Set(names.filter(({ common }) => common).flatMap(({ name }) => wordsOf(name)));
  return words.filter((word) => !common.has(word.toLowerCase()));
}

/** The share of times a playbook worked, two more tries assumed of which one did. */
function successOf({ layer, worked, failed }: MemoryRow): number | null {
  return layer === 'procedural' ? (worked + 1) / (worked + failed + 2) : null;
}

function resultOf(db: DatabaseSync, found: Found, score: number): LookupResult {
  const { row, terms, text, subject, boosts, session, vector } = found;
  const words = [...terms].sort((a, b) => b[1] - a[1]).flatMap(([term]) => term.words);
  return {
    ...memoryFacts(db, row),
    text: row.content.slice(0, maxTextLength).toWellFormed(),
    text_truncated: row.content.length > maxTextLength,
    score: rounded(score),
    why: {
      terms: [...new Set(words)],
      text: rounded(text),
      subject,
      neighbours: boosts.map((one) => ({ ...one, score: rounded(one.score) })),
      session: rounded(session),
      vector: vector === undefined ? undefined : rounded(vector),
      success: successOf(row) === null ? null : rounded(successOf(row)!),
    },
  };
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
