import type { Redactor } from '#kit/redaction/redactor.ts';
import { bytesOf, type Chunk } from './recording.ts';

/**
 * Chunks without secrets; those that hold none stay as they are, byte for byte, the others become one. A secret may lie across
 * chunks, stand in escapes of JSON, and in a stream a model writes it in pieces over several events: then the first event that has
 * a part of a text gets all of it.
 */
export function cleanChunks(
  chunks: readonly Chunk[],
  isStream: boolean,
  redactor: Redactor,
): readonly Chunk[] {
  const text = Buffer.concat(chunks.map(bytesOf)).toString('utf8');
  const events = isStream ? (text.match(/[\s\S]*?(?:\r?\n){2}|[\s\S]+$/g) ?? []) : [];
  const clean = isStream ? cleanEvents(events, redactor).join('') : cleanBody(text, redactor);
  return clean === text ? chunks : [[chunks[0]?.[0] ?? 0, clean]];
}

/** What JSON says is searched, and then what is left of its text. */
function cleanBody(text: string, redactor: Redactor): string {
  const value = parsed(text);
  const clean = value === undefined ? value : redactor.redactDeep(value);
  return redactor.redact(isSame(value, clean) ? text : JSON.stringify(clean));
}

function cleanEvents(events: readonly string[], redactor: Redactor): string[] {
  const values = events.map((event) => parsed(dataOf(event)));
  const changed = new Set<unknown>();
  for (const pieces of spreadTexts(values)) {
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
    return redactor.redact(isAsItWas ? event : `data: ${JSON.stringify(clean)}\n\n`);
  });
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
 * Texts that a model wrote in pieces over several events of a stream: in the deltas of each choice all that stands at the same
 * place, whatever it is called. Elements of lists go by their `index` where they have one.
 * @param events parsed; what is none is skipped
 */
function spreadTexts(events: readonly unknown[]): readonly (readonly TextPiece[])[] {
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
  if (typeof value !== 'object' || value === null || depth > maxDepth) return;
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
