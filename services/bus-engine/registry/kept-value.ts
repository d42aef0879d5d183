/** Deeper values exhaust the stack of recursive code. */
const maxLevels = 100;
const maxBytes = 65_536;

/**
 * How many bytes of JSON these are, or the rule that they break. What the engine keeps it also writes again, in lists and in
 * calls, when nobody waits for a refusal any more.
 */
export function weigh(values: Readonly<Record<string, unknown>>): number | string {
  const deep = Object.keys(values).find((name) => isDeeper(values[name], maxLevels));
  if (deep !== undefined) return `${deep}: must be nested at most ${maxLevels} levels deep`;
  const bytes = Buffer.byteLength(JSON.stringify(values));
  if (bytes <= maxBytes) return bytes;
  return `${Object.keys(values).join(' and ')}: must have at most ${maxBytes} bytes together`;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
