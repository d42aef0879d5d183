/** Seconds before another attempt: six times as long each time, so that five attempts outlast most outages of a forge, up to a limit, and a fifth more or less. */
export function retrySeconds(
  failures: number,
  { first, most }: { readonly first: number; readonly most: number },
  random: () => number = Math.random,
): number {
  const plain = Math.min(most, first * 6 ** Math.min(failures - 1, 20));
  return plain * (0.8 + 0.4 * random());
}
