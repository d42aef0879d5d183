/** As `randomNumbers` makes them. */
export type Random = () => number;

export function oneOf<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)]!;
}

export function shuffled<T>(random: Random, choices: readonly T[]): T[] {
  const order = new Map(choices.map((choice) => [choice, random()]));
  return choices.toSorted((a, b) => order.get(a)! - order.get(b)!);
}

export function between(random: Random, low: number, high: number): number {
  return Math.round(low + random() * (high - low));
}
