/** Words that say nothing about what is looked for. */
const stopWords = new Set(
  `a about above after again all also am an and any are aren't as at be because been before being below between both but by can
  can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further get got had hadn't has hasn't have
  haven't having he her here hers herself him himself his how i if in into is isn't it its itself just let's like me more most my
  myself no nor not of off on once only or other our ours ourselves out over own please same she should shouldn't so some such tell
  than that that's the their theirs them themselves then there these they this those through to too under until up upon us very
  was wasn't we were weren't what what's when where which while who whom whose why will with won't would wouldn't you your yours
  yourself yourselves s t d ll m re ve`.split(/\s+/),
);

const mostWords = 2_000;

/** The words of a text, in order, in lower case. */
export function wordsOf(text: string, most = mostWords): string[] {
  const lower = text.normalize('NFKC').toLowerCase().replaceAll('’', "'");
  return (lower.match(/[\p{L}\p{N}\p{Co}\p{M}]+(?:'[\p{L}]+)*/gu) ?? []).slice(0, most);
}

/** Without the words that say nothing; a possessive loses its ending. */
export function tellingWords(words: readonly string[]): string[] {
  const telling = words.filter((word) => !stopWords.has(word)).flatMap((word) => word.split("'"));
  return [...new Set(telling.filter((word) => word !== '' && !stopWords.has(word)))];
}
