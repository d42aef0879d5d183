import type { Group } from './groups.ts';

const longestQuestion = 500;
/** What a test counts of what it would otherwise. */
const shareOfTest = 0.7;

/** Whether a query is a question in words. */
export function isQuestion(query: string): boolean {
  const text = query.trim();
  return (
    text.length <= longestQuestion &&
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
