const unitsMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `30d`, `12h`, `2w` or `90m`, in milliseconds; null for any other text. */
export function timeSpanMs(text: string): number | null {
  const [, count, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(count) * unitsMs[unit]!;
}
