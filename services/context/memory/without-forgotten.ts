import { forgottenIn } from '../execution/forgotten-words.ts';
import type { GraphRecord } from '../record/graph-record.ts';

const mostPieces = 40;

/**
 * What a run's memory says without the words that people had forgotten of that run, wherever it quotes them: behind a colon, up to
 * the end of a sentence.
 * @param key of the memory; that of a run's begins with its id
 */
export function withoutForgotten(record: GraphRecord, key: string | null, content: string): string {
  const run = key === null ? null : (/^(run_[^/]+)\//.exec(key)?.[1] ?? null);
  if (run === null || !hasForgotten(record, run)) return content;
  const isForgotten = forgottenIn(record, run);
  if (isForgotten(content)) return '[forgotten]';
  let kept = content;
  for (const start of placesOf(content, ': ').toReversed()) {
    const from = start + 2;
    const end = endsAfter(kept, from).find((end) => isForgotten(kept.slice(from, end)));
    if (end !== undefined) kept = kept.slice(0, start) + kept.slice(end);
  }
  return kept;
}

function hasForgotten(record: GraphRecord, run: string): boolean {
  return (
    record
      .prepare('SELECT 1 FROM run_memories WHERE run_id = ? AND key >= ? AND key < ? LIMIT 1')
      .get(run, `${run}/forgotten/`, `${run}/forgotten0`) !== undefined
  );
}

/** The longest first. */
function endsAfter(text: string, from: number): number[] {
  const ends = [...placesOf(text, '; '), ...placesOf(text, '. '), ...placesOf(text, ', ')];
  const last = text.endsWith('.') ? [text.length, text.length - 1] : [text.length];
  return [...ends, ...last].filter((end) => end > from).sort((a, b) => b - a);
}

function placesOf(text: string, mark: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(mark); at >= 0 && places.length < mostPieces; at = text.indexOf(mark, at + 1))
    places.push(at);
  return places;
}
