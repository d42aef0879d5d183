/** A part of a text, where it stands. */
export interface TextPiece {
  readonly event: unknown;
  readonly holder: Record<string | number, unknown>;
  readonly member: string | number;
}

/** Deeper, a delta says nothing. */
const deepest = 20;

/**
 * Texts that a model wrote in pieces over several events of a stream: in the deltas of each choice all that stands at the same
 * place, whatever it is called. Elements of lists go by their `index` where they have one.
 * @param events parsed; what is none is skipped
 */
export function spreadTexts(events: readonly unknown[]): readonly (readonly TextPiece[])[] {
  const texts = new Map<string, TextPiece[]>();
  for (const event of events) {
    const { choices } = (event ?? {}) as { choices?: unknown };
    if (!Array.isArray(choices)) continue;
    for (const choice of choices) note(choice?.delta, `${choice?.index ?? 0}`, event, texts, 0);
  }
  return [...texts.values()];
}

function note(
  value: unknown,
  path: string,
  event: unknown,
  texts: Map<string, TextPiece[]>,
  depth: number,
): void {
  if (typeof value !== 'object' || value === null || depth > deepest) return;
  const holder = value as Record<string | number, unknown>;
  for (const [name, item] of Object.entries(value)) {
    const place = `${path}/${Array.isArray(value) ? (item?.index ?? name) : JSON.stringify(name)}`;
    if (typeof item !== 'string') {
      note(item, place, event, texts, depth + 1);
      continue;
    }
    const pieces = texts.get(place) ?? [];
    pieces.push({ event, holder, member: name });
    texts.set(place, pieces);
  }
}
