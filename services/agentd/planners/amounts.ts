export function counted(value: number, unit: string): string {
  return `${value.toLocaleString('en-US')} ${unit}${value === 1 ? '' : 's'}`;
}

export function dollars(value: number): string {
  return `$${value.toFixed(value >= 1 ? 2 : 4)}`;
}
