/** Deeper values exhaust the stack of recursive code. */
const maxLevels = 100;
const maxBytes = 65_536;

/** The engine refuses to store this value. */
export class ValueRefused extends Error {
  override readonly name = 'ValueRefused';
}

/**
 * About how many bytes of JSON these are, counted no further than they may have. What the engine keeps it also writes again, in lists
 * and in calls, when nobody waits for a refusal any more.
 * @throws ValueRefused
 */
export function weigh(values: Readonly<Record<string, unknown>>): number {
  let bytes = 0;

  function take(size: number): void {
    bytes += size;
    if (bytes <= maxBytes) return;
    const names = Object.keys(values).join(' and ');
    throw new ValueRefused(`${names}: must have at most ${maxBytes} bytes together`);
  }

  function walk(value: unknown, name: string, level: number): void {
    if (typeof value !== 'object' || value === null) {
      take(typeof value === 'string' ? Buffer.byteLength(value) + 2 : String(value ?? '').length);
      return;
    }
    if (level >= maxLevels)
      throw new ValueRefused(`${name}: must be nested at most ${maxLevels} levels deep`);
    for (const [key, member] of Object.entries(value)) {
      take(Array.isArray(value) ? 2 : Buffer.byteLength(key) + 4);
      walk(member, name, level + 1);
    }
  }

  for (const [name, value] of Object.entries(values)) walk(value, name, 0);
  return bytes;
}
