import type { DatabaseSync } from 'node:sqlite';
import { isTurn, type MemoryRow } from '../memory-row.ts';
import type { Condition, Name } from './query.ts';
import { bm25, type Term, type TextScore } from './text-scores.ts';

/**
 * What a turn gets of the score of the one that stands so to it; what comes right after a question answers it. From 0.6 to 0.8 the
 * answer's share made no difference on conversations of REALTALK and FriendsQA (site/figures.md); 0.4, as of any previous turn, lost.
 */
const shares = { question: 0.8, previous: 0.4, next: 0.2, previous_2: 0.15, next_2: 0.1 } as const;
type Relation = keyof typeof shares;

/**
 * What a turn counts of its sum, by what the query is after. Each was measured alone on REALTALK and FriendsQA, as recall at 5 in
 * percentage points: +0.4 and +1.0 for turns that only ask, +0.4 and +0.9 for times, +2.3 and 0 for the speaker.
 */
const factors = { onlyAsks: 0.8, saysWhen: 1.2, namedSpeaker: 1.3 } as const;

/** What of a query decides which turns answer it. */
export interface Asked {
  readonly names: readonly Name[];
  /** True if it asks when or how long: then the turn itself says it, and not the answer to a question. */
  readonly when: boolean;
}

export function asksWhen(query: string): boolean {
  return /\b(?:when|how long)\b/i.test(query);
}

function asks(text: string): boolean {
  return /[?？](?:\s|$)/.test(text);
}

function onlyAsks(text: string): boolean {
  return /[?？][ \t]*(?:\n|$)/.test(text);
}

const timeWords =
  /\b(?:yesterday|today|tonight|tomorrow|ago|last|next|recently|since|just|weekend|this (?:week|month|year|morning|summer|afternoon|evening)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|\d{4})\b/i;

export interface NeighbourBoost {
  readonly relation: Relation;
  readonly id: string;
  readonly score: number;
}

interface Neighbourhood {
  /** By the memory that gets it. */
  readonly boosts: ReadonlyMap<number, readonly NeighbourBoost[]>;
  /** Those who get something and are found by it alone. */
  readonly rows: readonly MemoryRow[];
}

/** What turns get from the turns before and after them in their session. */
export function neighboursOf(
  db: DatabaseSync,
  scored: readonly { readonly row: MemoryRow; readonly score: number }[],
  condition: Condition,
  asked: Asked,
): Neighbourhood {
  const before = db.prepare(
    'SELECT memory FROM memories WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT 2',
  );
  const after = db.prepare('SELECT memory FROM memories WHERE session = ? AND seq > ? ORDER BY seq LIMIT 2');
  const boosts = new Map<number, NeighbourBoost[]>();
  for (const { row, score } of scored) {
    if (!isTurn(row) || row.seq === null) continue;
    const pass = (to: { memory: number } | undefined, relation: Relation) => {
      if (to === undefined) return;
      const boost = { relation, id: row.id, score: shares[relation] * score };
      boosts.set(to.memory, [...(boosts.get(to.memory) ?? []), boost]);
    };
    const [back, back2] = before.all(row.session, row.seq) as { memory: number }[];
    const [ahead, ahead2] = after.all(row.session, row.seq) as { memory: number }[];
    pass(ahead, !asked.when && asks(row.content) ? 'question' : 'previous');
    pass(ahead2, 'previous_2');
    pass(back, 'next');
    pass(back2, 'next_2');
  }
  const known = new Set(scored.map(({ row }) => row.memory));
  const others = [...boosts.keys()].filter((memory) => !known.has(memory));
  const rows = db
    .prepare(
      `SELECT m.* FROM memories m WHERE m.memory IN (SELECT value FROM json_each(?)) AND ${condition.sql}`,
    )
    .all(JSON.stringify(others), ...condition.values) as unknown as MemoryRow[];
  return { boosts, rows };
}

const lastTurns = 100;

/** Factors of turns, for one query. */
export function turnFactors(db: DatabaseSync, { names, when }: Asked): (row: MemoryRow) => number {
  const speakers = db.prepare(
    `SELECT count(DISTINCT speaker_name) AS speakers FROM (
       SELECT speaker_name FROM memories WHERE session = ? AND seq IS NOT NULL ORDER BY seq DESC LIMIT ${lastTurns})`,
  );
  const ofTwo = new Map<string, boolean>();
  // Among more than two, those who are named are talked about as often as they talk.
  const isOfTwo = (session: string) => {
    if (!ofTwo.has(session))
      ofTwo.set(session, (speakers.get(session) as { speakers: number }).speakers <= 2);
    return ofTwo.get(session)!;
  };
  return (row) => {
    const isNamed = names.some(({ name }) => name === row.speaker_name);
    return (
      (onlyAsks(row.content) ? factors.onlyAsks : 1) *
      (when && timeWords.test(row.content) ? factors.saysWhen : 1) *
      (isNamed && isOfTwo(row.session!) ? factors.namedSpeaker : 1)
    );
  };
}

/**
 * How well whole sessions match, 0 to 1: by the text of their summary where there is one, else as one text made of all their
 * turns.
 */
export function sessionScores(
  db: DatabaseSync,
  scored: readonly TextScore[],
  best: number,
): Map<string, number> {
  const sessions = new Map<string, TextScore[]>();
  for (const score of scored) {
    if (!isTurn(score.row)) continue;
    const session = score.row.session!;
    sessions.set(session, [...(sessions.get(session) ?? []), score]);
  }
  const summaries = new Map(
    scored.filter(({ row }) => row.kind === 'summary').map(({ row, score }) => [row.session, score / best]),
  );
  const hasSummary = db.prepare("SELECT 1 FROM memories WHERE session = ? AND kind = 'summary' LIMIT 1");
  const measure = db.prepare('SELECT sum(words) AS words FROM memories WHERE session = ?');
  const lengths = new Map(
    [...sessions.keys()].map((session) => [session, (measure.get(session) as { words: number }).words]),
  );
  const average = [...lengths.values()].reduce((sum, words) => sum + words, 0) / Math.max(1, lengths.size);
  const whole = new Map<string, number>();
  for (const [session, turns] of sessions) {
    if (hasSummary.get(session) !== undefined) continue;
    whole.set(session, bm25(sumOf(turns), lengths.get(session)!, average).score);
  }
  const bestWhole = Math.max(...whole.values(), Number.MIN_VALUE);
  return new Map(
    [...sessions.keys()].map((session) => {
      const score = whole.get(session);
      return [session, score === undefined ? (summaries.get(session) ?? 0) : score / bestWhole];
    }),
  );
}

function sumOf(turns: readonly TextScore[]): Map<Term, number> {
  const counts = new Map<Term, number>();
  for (const turn of turns)
    for (const [term, count] of turn.counts) counts.set(term, (counts.get(term) ?? 0) + count);
  return counts;
}
