import { decode } from '#kit/decode.ts';
import { canonicalJson, sha256 } from '#kit/digest.ts';
import { Failed, messageOf } from '#kit/errors.ts';
import { mapTexts } from '#kit/map-texts.ts';
import { dataCodec, EventEnvelope, type NewEvent, type RawEvent, type RunEvent } from '../event.ts';

/**
 * One line of `events.jsonl`: `{"seq":…,"at":…,"type":…,"data":…,"prev":…,"hash":…}` and a line feed, in this order, without
 * space, `data` as canonical JSON. There is exactly one way to write an event, so that every changed byte shows.
 */
export interface EventLine {
  readonly event: RunEvent;
  readonly text: string;
}

export type Head = Pick<RunEvent, 'seq' | 'hash'>;

export const beforeFirst: Head = { seq: 0, hash: '0'.repeat(64) };

const lineFeed = 0x0a;

/** The whole lines of a log, each without its line feed and with its first byte's place. What follows the last one is torn. */
export function* wholeLines(
  log: Uint8Array,
): Generator<{ readonly line: Uint8Array; readonly start: number }> {
  let start = 0;
  for (let end = log.indexOf(lineFeed); end >= 0; end = log.indexOf(lineFeed, start)) {
    yield { line: log.subarray(start, end), start };
    start = end + 1;
  }
}

export function writeLine(head: Head, at: string, event: NewEvent): EventLine {
  const seq = head.seq + 1;
  const { data, canonical } = writableData(event);
  const hash = hashOf({ seq, at, type: event.type, prev: head.hash }, canonical);
  const envelope = { seq, at, type: event.type, prev: head.hash, hash };
  return { event: { ...envelope, data } as RunEvent, text: lineText(envelope, canonical) };
}

/** @returns the new events, chained to `head`, and their lines as in events.jsonl */
export function writeLines(
  head: Head,
  at: string,
  events: readonly NewEvent[],
): { readonly lines: RunEvent[]; readonly text: string } {
  const lines: RunEvent[] = [];
  let text = '';
  let last = head;
  for (const event of events) {
    const line = writeLine(last, at, event);
    lines.push(line.event);
    text += line.text;
    last = line.event;
  }
  return { lines, text };
}

/** The line of an event that was read or written before. */
export function lineOf({ data, ...envelope }: RunEvent): string {
  return lineText(envelope, canonicalJson(data));
}

/**
 * Reads the line that follows `head`.
 * @throws Failed (`run_damaged`) with the rule that is broken
 */
export function readLine(bytes: Uint8Array, head: Head): RunEvent {
  const { raw, canonical } = parseLine(bytes);
  if (raw.seq !== head.seq + 1) throw damaged(`seq is ${raw.seq} and must be ${head.seq + 1}`);
  if (raw.prev !== head.hash) throw damaged(`prev is ${raw.prev} and must be the hash of the event before`);
  const hash = hashOf(raw, canonical);
  if (raw.hash !== hash) throw damaged(`hash is ${raw.hash}, but the content gives ${hash}`);
  return decodeEvent(raw);
}

/** Sound events at the beginning of a log, the number of bytes in their lines, and why the next line is not sound. */
export function soundEvents(log: Uint8Array): {
  readonly events: RunEvent[];
  readonly length: number;
  readonly problem: unknown;
} {
  const events: RunEvent[] = [];
  let length = 0;
  for (const { line, start } of wholeLines(log)) {
    try {
      events.push(readLine(line, events.at(-1) ?? beforeFirst));
    } catch (problem) {
      return { events, length, problem };
    }
    length = start + line.length + 1;
  }
  return { events, length, problem: null };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The envelope as it stands in the line, neither the chain nor the data judged. @throws Failed (`run_damaged`) */
export function parseLine(bytes: Uint8Array): { readonly raw: RawEvent; readonly canonical: string } {
  let text: string;
  let raw: RawEvent;
  let canonical: string;
  try {
    text = utf8.decode(bytes);
    raw = decode(EventEnvelope, JSON.parse(text), 'event');
    canonical = canonicalJson(raw.data);
  } catch (cause) {
    throw damaged(`not an event: ${messageOf(cause)}`, cause);
  }
  if (lineText(raw, canonical) !== `${text}\n`) throw damaged('not written the way an event is written');
  return { raw, canonical };
}

export function decodeEvent(raw: RawEvent): RunEvent {
  try {
    const data = decode(dataCodec(raw.type), raw.data, `data of ${raw.type}`);
    return { ...raw, data } as RunEvent;
  } catch (cause) {
    throw damaged(messageOf(cause), cause);
  }
}

/** sha256 over the canonical JSON (RFC 8785: members sorted by name) of seq, at, type, data and prev. */
export function hashOf(event: Omit<RawEvent, 'data' | 'hash'>, canonical: string): string {
  const { at, prev, seq, type } = event;
  return sha256(
    `{"at":${JSON.stringify(at)},"data":${canonical},"prev":"${prev}","seq":${seq},"type":"${type}"}`,
  );
}

function lineText(event: Omit<RawEvent, 'data'>, canonical: string): string {
  const { seq, at, type, prev, hash } = event;
  return `{"seq":${seq},"at":${JSON.stringify(at)},"type":"${type}","data":${canonical},"prev":"${prev}","hash":"${hash}"}\n`;
}

/**
 * Data as it will be read again, and its canonical JSON. That knows no lone surrogates; text from outside may hold some (half of
 * an emoji cut off), which become U+FFFD.
 */
function writableData({ type, data }: NewEvent): { readonly data: unknown; readonly canonical: string } {
  const decoded = (value: unknown) => decode(dataCodec(type), value, `event ${type}`, 'event_invalid');
  const plain: unknown = JSON.parse(JSON.stringify(decoded(data)));
  const canonical = canonicalJson(mapTexts(plain, (text) => text.toWellFormed()));
  // Parsed again for the order of members, which views are compared by.
  return { data: decoded(JSON.parse(canonical)), canonical };
}

function damaged(rule: string, cause?: unknown): Failed {
  return new Failed('run_damaged', rule, cause === undefined ? {} : { cause });
}
