export function dollars(value: number): string {
  return `$${value.toFixed(value >= 1 ? 2 : 4)}`;
}
