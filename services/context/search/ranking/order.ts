import type { Group } from './groups.ts';

const maxQuestionLength = 500;
/** What a test counts of what it would otherwise. */
const shareOfTest = 0.7;

/** Whether a query is a question in words. */
export function isQuestion(query: string): boolean {
  const text = query.trim();
  return (
    text.length <= maxQuestionLength &&
    /\s\S+\s/.test(text) &&
    (text.endsWith('?') || /^(?:how|what|where|which|why|when|who|whose)\b/i.test(text))
  );
}

/** Rates tests lower for a question that is not about tests: they have its words, as all that they test, and explain least. */
export function lowerTests(groups: Iterable<Group>, query: string): void {
  if (!isQuestion(query) || aboutTests.test(query)) return;
  for (const group of groups) {
    const path = (group.whole ?? group.parts[0]?.row)?.path;
    if (path == null || !isTest(path)) continue;
    group.text *= shareOfTest;
    group.score *= shareOfTest;
    for (const [nth, edge] of group.edges.entries())
      group.edges[nth] = { ...edge, score: edge.score * shareOfTest };
  }
}

const aboutTests = /(?:^|[^\p{L}])(?:tests?|tested|testing|specs?|fixtures?|bench(?:mark)?s?)(?![\p{L}])/iu;

/** By the names that the usual test runners look for. */
export function isTest(path: string): boolean {
  return (
    /(?:^|\/)(?:tests?|__tests__|specs?|testdata)\//i.test(path) ||
    /[._-](?:test|spec)\.\w+$/i.test(path) ||
    /(?:^|\/)test_[^/]*\.py$/.test(path) ||
    /[a-z\d]Tests?\.\w+$/.test(path)
  );
}

const shown = 10;
/** Of the first results, what documents and what code have at least, where they match about as well. */
const minShare = 0.3;
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
  const least = Math.floor(count * minShare);
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

/** Results in their order, none with a greater score than the one before it: who was moved up takes down what it passed. */
export function withFallingScores<Result extends { readonly score: number }>(
  results: readonly Result[],
): Result[] {
  let least = Number.POSITIVE_INFINITY;
  return results.map((result) => {
    least = Math.min(least, result.score);
    return { ...result, score: least };
  });
}
