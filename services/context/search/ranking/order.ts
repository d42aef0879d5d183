import { prefixOf } from '../words/prefix.ts';
import { type Group, rowOf, scale } from './groups.ts';

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
    const path = rowOf(group)?.path;
    if (path != null && isTest(path)) scale(group, shareOfTest);
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

/** What every change and every text of a project touches on. */
const hub =
  /(?:^|\/)(?:(?:readme|change(?:s|log)|history|news|releases?|contributing|migrat(?:ion|ing)|upgrading|authors|licen[cs]e|faq)[\w-]*(?:\.(?:md|rst|adoc|txt))?|[\w-]*[.-]lock(?:\.\w+)?|go\.sum)$/i;
/** Of the first result's score, what the file has at least that takes its place. */
const leadShare = 0.5;

/** Whether the first line of a query writes something as only code does, or is of a change to code. */
function namesCode(query: string): boolean {
  const [first] = query.trim().split('\n', 1);
  return (
    /`[^`]+`|[a-z\d][A-Z]|\w_\w|\w\(\)|\w[/.]\w+\.\w/.test(first!) ||
    /^(?:fix|feat|perf|refactor|test)\b[^:\s]*:/i.test(first!)
  );
}

/**
 * For a query that names code, a README, a changelog or a lockfile comes after the first other result, if that matches half as well:
 * they have the words of everything. Lowering them all did harm (-0.1 MRR, -1 recall at 5): changes do touch them.
 */
export function withoutHubFirst(ranked: readonly Group[], query: string): readonly Group[] {
  if (!namesCode(query) || prefixOf(query).sorts.length > 0) return ranked;
  const isHub = (group: Group) => group.named === null && hub.test(rowOf(group)?.path ?? '');
  const first = ranked.findIndex((group) => !isHub(group));
  if (first <= 0 || ranked[first]!.score < leadShare * ranked[0]!.score) return ranked;
  return [ranked[first]!, ...ranked.slice(0, first), ...ranked.slice(first + 1)];
}

function sortOf(group: Group): Sort {
  const row = rowOf(group);
  if (row === null || row.path === null) return null;
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
