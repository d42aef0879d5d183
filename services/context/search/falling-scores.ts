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
