/** What of a memory is compared with others. */
export function comparedText(content: string, steps: readonly string[]): string {
  return steps.length === 0 ? content : [content, ...steps].join('\n');
}

/** How a text is compared: without case, punctuation and the width of its spaces. */
export function normalised(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{P}\s]+/gu, ' ')
    .trim();
}

/** How a name is compared; its punctuation belongs to it. */
export function normalisedName(name: string): string {
  return name.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim();
}

/**
 * What makes texts say different things however alike they look: their numbers and their negations, in order. Texts
 * that differ here are never duplicates.
 */
export function distinguishingMarks(text: string): string {
  const lower = text.normalize('NFKC').toLowerCase().replaceAll('’', "'");
  const marks = lower.match(/\p{N}+(?:[.,:]\p{N}+)*|\b(?:not|no|never|none|without|nor|cannot)\b|n't\b/gu);
  return (marks ?? []).join(' ');
}

/** The 3-grams of a normalised text; of a shorter text itself. */
export function trigrams(text: string): Set<string> {
  if (text.length < 3) return new Set([text]);
  const grams = new Set<string>();
  for (let at = 0; at + 3 <= text.length; at++) grams.add(text.slice(at, at + 3));
  return grams;
}

/** Share of what two sets have together; 1 for two that are empty. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  let common = 0;
  for (const item of small) if (large.has(item)) common++;
  const all = a.size + b.size - common;
  return all === 0 ? 1 : common / all;
}

/** How many words the index counts in a text, about. */
export function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}\p{Co}]+/gu)?.length ?? 0;
}
