import type { Group } from './groups.ts';
import { isQuestion } from './questions.ts';

const shown = 10;
/** Of the first results, what documents and what code have at least, where they match about as well. */
const leastShare = 0.3;
/** Of the score of the last result that is shown. */
const wellEnough = 0.6;

type Sort = 'document' | 'code' | null;

/**
 * For a question in words the first ten results with documents and code among them: whichever has fewer than three takes the last
 * places of the other, as far as it matches nearly as well. A question is answered in a document, where its words are in the code
 * as well. Everything else that is asked keeps its order.
 */
export function mixed(ranked: readonly Group[], query: string, limit: number): readonly Group[] {
  const count = Math.min(shown, limit);
  const least = Math.floor(count * leastShare);
  if (least === 0 || ranked.length <= count || !isQuestion(query)) return ranked;
  const enough = wellEnough * ranked[count - 1]!.score;
  for (const sort of ['document', 'code'] as const) {
    const first = ranked.slice(0, count);
    const missing = least - first.filter((group) => sortOf(group) === sort).length;
    if (missing <= 0) continue;
    const rising = ranked
      .slice(count)
      .filter((group) => sortOf(group) === sort && group.score >= enough)
      .slice(0, missing);
    const falling = first
      .filter((group) => sortOf(group) !== sort && group.named === null)
      .slice(rising.length === 0 ? count : -rising.length);
    const moved = new Set([...rising, ...falling]);
    const stay = (group: Group) => !moved.has(group);
    return [
      ...first.filter(stay),
      ...rising.slice(0, falling.length),
      ...falling,
      ...rising.slice(falling.length),
      ...ranked.slice(count).filter(stay),
    ];
  }
  return ranked;
}

function sortOf({ whole, parts }: Group): Sort {
  const row = whole ?? parts[0]?.row;
  if (row === undefined || row.path === null) return null;
  return row.kind === 'document' || row.kind === 'section' ? 'document' : 'code';
}
