/**
 * Equal for memories that say the same: differences in white space, in the case of plain words and in the final punctuation do not
 * count; every other character does. Plain words are of letters only and outside of "…" and `…`: `src/Auth.ts`, `userId` and
 * `--Force` keep their case. A final question mark counts: a question states nothing.
 */
export function folded(content: string, steps: readonly string[] = []): string {
  return JSON.stringify([content, ...steps].map(foldedText));
}

function foldedText(text: string): string {
  const parts = text.trim().replaceAll(/\s+/gu, ' ').replace(finalPunctuation, '').split(quoted);
  return parts.map((part, nth) => (nth % 2 === 1 ? part : part.replaceAll(plainWord, lowered))).join('');
}

/** Only behind a word or a closing bracket: `cp a .` and `HEAD..` end otherwise than in punctuation. */
const finalPunctuation = /(?<=[\p{L}\p{M})\]"'”’»`])[.!。！…]$|(?<=\p{N})[.。]$/u;
const quoted = /(`[^`]*`|"[^"]*")/u;
const plainWord = /(?<=^|[ (])[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*(?=[),;:.!?…。，]*(?: |$))/gu;

/** camelCase keeps its case: it is a name. */
function lowered(word: string): string {
  const lower = word.toLowerCase();
  const isMixed = word !== word.toUpperCase() && word.slice(1) !== lower.slice(1);
  return isMixed ? word : lower;
}

/** How likeness of texts is measured: without case, punctuation and the width of its spaces. */
export function normalised(content: string, steps: readonly string[] = []): string {
  return [content, ...steps]
    .join('\n')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{P}\s]+/gu, ' ')
    .trim();
}

/** How a name is looked for; its punctuation belongs to it. */
export function normalisedName(name: string): string {
  return name.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim();
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
