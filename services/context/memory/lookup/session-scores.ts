import type { DatabaseSync } from 'node:sqlite';
import { isTurn } from '../remembered.ts';
import { bm25, type Term, type TextScore } from './text-scores.ts';

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
