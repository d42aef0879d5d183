import type { Redactor } from '#kit/redaction.ts';
import { bytesOf, type Chunk } from './recording.ts';

/**
 * Chunks without secrets. Those that hold none stay as they are, byte for byte. A secret may lie across chunks, and in a
 * stream a model writes it in pieces over several events: then the first event that has a part of a text gets all of it.
 */
export function cleanChunks(
  chunks: readonly Chunk[],
  isStream: boolean,
  redactor: Redactor,
): readonly Chunk[] {
  const text = Buffer.concat(chunks.map(bytesOf)).toString('utf8');
  if (!isStream) {
    const clean = redactor.redact(text);
    return clean === text ? chunks : [[chunks[0]?.[0] ?? 0, clean]];
  }
  const events = text.match(/[\s\S]*?(?:\r?\n){2}|[\s\S]+$/g) ?? [];
  const parsed = events.map((event) => parsedEvent(event));
  const changed = cleanTexts(parsed, redactor);
  if (!changed && redactor.redact(text) === text) return chunks;
  const starts = startsOf(chunks);
  let at = 0;
  return events.map((event, index): Chunk => {
    const ms = timeAt(chunks, starts, at);
    at += Buffer.byteLength(event);
    const value = parsed[index];
    return [ms, redactor.redact(value === null || !changed ? event : `data: ${JSON.stringify(value)}\n\n`)];
  });
}

interface Delta {
  content?: unknown;
  refusal?: unknown;
  tool_calls?: { index?: number; function?: { arguments?: unknown } }[];
}

interface Event {
  choices?: { index?: number; delta?: Delta }[];
}

function parsedEvent(event: string): Event | null {
  const data = /^data: ?(.*)$/m.exec(event)?.[1];
  if (data === undefined) return null;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as Event) : null;
  } catch {
    return null;
  }
}

/** Texts that are spread over events, each by the place of its pieces. Changes the events; false where nothing was to be hidden. */
function cleanTexts(events: readonly (Event | null)[], redactor: Redactor): boolean {
  const texts = new Map<string, { holder: Record<string, unknown>; member: string }[]>();
  const note = (place: string, holder: object | undefined, member: string) => {
    const piece = holder as Record<string, unknown> | undefined;
    if (typeof piece?.[member] !== 'string') return;
    texts.set(place, [...(texts.get(place) ?? []), { holder: piece, member }]);
  };
  for (const event of events) {
    for (const { index = 0, delta } of Array.isArray(event?.choices) ? event.choices : []) {
      note(`${index} content`, delta, 'content');
      note(`${index} refusal`, delta, 'refusal');
      for (const call of Array.isArray(delta?.tool_calls) ? delta.tool_calls : [])
        note(`${index} call ${call.index ?? 0}`, call.function, 'arguments');
    }
  }
  let changed = false;
  for (const pieces of texts.values()) {
    const text = pieces.map(({ holder, member }) => holder[member]).join('');
    const clean = redactor.redact(text);
    if (clean === text) continue;
    changed = true;
    for (const [index, { holder, member }] of pieces.entries()) holder[member] = index === 0 ? clean : '';
  }
  return changed;
}

function startsOf(chunks: readonly Chunk[]): number[] {
  let at = 0;
  return chunks.map((chunk) => {
    const start = at;
    at += bytesOf(chunk).length;
    return start;
  });
}

function timeAt(chunks: readonly Chunk[], starts: readonly number[], offset: number): number {
  const index = starts.findLastIndex((start) => start <= offset);
  return chunks[Math.max(0, index)]?.[0] ?? 0;
}
