import type { Redactor } from '#kit/redaction/redactor.ts';
import type { EventWire, Json } from '../providers/pass-through/wire.ts';
import { bytesOf, type Chunk } from './recording.ts';

/**
 * Chunks without secrets; those that hold none stay as they are, byte for byte, the others become one. A secret may lie across
 * chunks, stand in escapes of JSON, and in a stream a model writes it in pieces over several events: then the first event that has
 * a part of a text gets all of it.
 * @param deltas of an event of a stream; null for a whole answer
 */
export function cleanChunks(
  chunks: readonly Chunk[],
  deltas: EventWire['deltas'] | null,
  redactor: Redactor,
): readonly Chunk[] {
  const text = Buffer.concat(chunks.map(bytesOf)).toString('utf8');
  const events = deltas !== null ? (text.match(/[\s\S]*?(?:\r?\n){2}|[\s\S]+$/g) ?? []) : [];
  const clean = deltas !== null ? cleanEvents(events, deltas, redactor).join('') : cleanBody(text, redactor);
  return clean === text ? chunks : [[chunks[0]?.[0] ?? 0, clean]];
}

/** What JSON says is searched, and then what is left of its text. */
function cleanBody(text: string, redactor: Redactor): string {
  const value = parsed(text);
  const clean = value === undefined ? value : redactor.redactDeep(value);
  return redactor.redact(isSame(value, clean) ? text : JSON.stringify(clean));
}

function cleanEvents(events: readonly string[], deltas: EventWire['deltas'], redactor: Redactor): string[] {
  const values = events.map((event) => parsed(dataOf(event)));
  const changed = new Set<unknown>();
  for (const pieces of spreadTexts(values, deltas)) {
    const text = pieces.map(({ holder, member }) => holder[member]).join('');
    const clean = redactor.redact(text);
    if (clean === text) continue;
    for (const [index, { holder, member, event }] of pieces.entries()) {
      holder[member] = index === 0 ? clean : '';
      changed.add(event);
    }
  }
  return events.map((event, index) => {
    const value = values[index];
    const clean = value === undefined ? value : redactor.redactDeep(value);
    const isAsItWas = !changed.has(value) && isSame(value, clean);
    return redactor.redact(isAsItWas ? event : `${nameOf(event)}data: ${JSON.stringify(clean)}\n\n`);
  });
}

/** The line of an event's name; empty where it has none. */
function nameOf(event: string): string {
  const [line] = /^event:.*$/m.exec(event) ?? [];
  return line === undefined ? '' : `${line}\n`;
}

/** The lines of data of an event, as one text. */
function dataOf(event: string): string {
  return [...event.matchAll(/^(?:\uFEFF)?data: ?(.*?)\r?$/gm)].map(([, line]) => line).join('\n');
}

/** undefined for what is no object of JSON. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isSame(value: unknown, clean: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(clean);
}

interface TextPiece {
  readonly event: unknown;
  readonly holder: Record<string | number, unknown>;
  readonly member: string | number;
}

/** Deeper, a delta says nothing. */
const maxDepth = 20;

/**
 * Texts that a model wrote in pieces over several events of a stream: in the deltas all that stands at the same place, whatever it is
 * called. Elements of lists go by their `index` where they have one.
 * @param events parsed; what is none is skipped
 */
function spreadTexts(
  events: readonly (object | undefined)[],
  deltas: EventWire['deltas'],
): readonly (readonly TextPiece[])[] {
  const texts = new Map<string, TextPiece[]>();
  for (const event of events) {
    if (event === undefined) continue;
    for (const { place, holder, member } of deltas(event as Json)) {
      const value = holder[member];
      if (typeof value === 'string') add(texts, place, { event, holder, member });
      else note(value, place, event, texts, 0);
    }
  }
  return [...texts.values()];
}

function add(texts: Map<string, TextPiece[]>, place: string, piece: TextPiece): void {
  texts.set(place, [...(texts.get(place) ?? []), piece]);
}

function note(
  value: unknown,
  path: string,
  event: unknown,
  texts: Map<string, TextPiece[]>,
  depth: number,
): void {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return;
  const holder = value as Record<string | number, unknown>;
  for (const [name, item] of Object.entries(value)) {
    const place = `${path}/${Array.isArray(value) ? (item?.index ?? name) : JSON.stringify(name)}`;
    if (typeof item !== 'string') {
      note(item, place, event, texts, depth + 1);
      continue;
    }
    add(texts, place, { event, holder, member: name });
  }
}
