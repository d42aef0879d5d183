import type { Readable } from 'node:stream';
import { createParser, type EventSourceMessage, type ParseError } from 'eventsource-parser';
import { isObject } from '#kit/is-object.ts';
import { mapTexts } from '#kit/map-texts.ts';
import type { Usage } from '#kit/model-answers/usage.ts';
import { type Mask, withoutSecrets } from '../mask.ts';
import type { EventWire, Json } from './wire.ts';

/** What an upstream sent is not a stream of its dialect. */
export class BrokenStream extends Error {}

/** Of an event, in characters. */
const maxEvent = 16 * 1024 * 1024;
/** Deltas nested deeper hold no text. */
const maxDepth = 20;
/** So long, in milliseconds, an upstream may take to end after `[DONE]`. */
const graceMs = 1_000;

/**
 * Reads the events of a stream and gives them on, masked: each event's data stays as it came, line ends become newlines. Counts
 * what the ledger charges on the way: the usage that the upstream reports, and the text of the deltas.
 */
export class EventReader {
  readonly #wire: EventWire;
  readonly #hideUsage: boolean;
  readonly #answers: number;
  /** By place; true for one that has finished. */
  readonly #parts = new Map<string, boolean>();
  readonly #mask: Mask;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: maxEvent,
    onEvent: (event) => this.#read(event),
    onComment: (comment) => this.#give(`: ${comment}\n\n`),
    onRetry: (ms) => this.#give(`retry: ${ms}\n\n`),
    onError: (error) => this.#refuse(error),
  });
  #out = '';
  #events = 0;
  #eventsWithContent = 0;
  #contentBytes = 0;
  #contentAtUsage = 0;
  usage: Usage | null = null;
  /** `[DONE]` came, or an event that nothing follows. */
  done = false;
  /** Data of the event by which the upstream reported an error, masked. */
  failure: string | null = null;

  /** @param hideUsage for a client that did not ask for the usage chunk */
  constructor(options: {
    readonly wire: EventWire;
    readonly hideUsage: boolean;
    readonly mask: Mask;
    /** How many the request asks for; 1 without it. */
    readonly answers?: number;
  }) {
    const { wire, hideUsage, mask, answers = 1 } = options;
    this.#answers = answers;
    this.#wire = wire;
    this.#hideUsage = hideUsage;
    this.#mask = mask;
  }

  /** Events that became whole with this piece, for the client; often empty. @throws BrokenStream */
  push(piece: Uint8Array): string {
    return this.#feed(this.#decoder.decode(piece, { stream: true }));
  }

  /** The upstream has ended. Some leave out the empty line after the last event. @throws BrokenStream */
  end(): string {
    const last = this.isOver ? '' : this.#feed(`${this.#decoder.decode()}\n\n`);
    if (this.isOver) return last;
    this.#requireEnd(this.#answers);
    return last;
  }

  /** Nothing that follows is for the client. */
  get isOver(): boolean {
    return this.done || this.failure !== null;
  }

  /** An event with data came. */
  get begun(): boolean {
    return this.done || this.#events > 0;
  }

  /** Bytes of text in the deltas; each event with text counts a token at least. */
  contentBytes(): number {
    return Math.max(4 * this.#eventsWithContent, this.#contentBytes);
  }

  /** Text came after the usage that was reported last. */
  get usageIsPartial(): boolean {
    return this.usage !== null && this.#contentBytes > this.#contentAtUsage;
  }

  #feed(text: string): string {
    this.#parser.feed(text);
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #give(text: string): void {
    if (!this.isOver) this.#out += this.#mask.hide(text);
  }

  #refuse({ type, line = '' }: ParseError): void {
    // Fields that nobody knows are to be ignored, by the standard of event streams; a page or a JSON text is none.
    if (this.isOver || type === 'invalid-retry' || (type === 'unknown-field' && !/^\s*[{[<]/.test(line)))
      return;
    throw new BrokenStream(
      type === 'max-buffer-size-exceeded'
        ? `an event has more than ${maxEvent} characters`
        : `it has the line ${this.#shown(line)}`,
    );
  }

  #read({ event, id, data }: EventSourceMessage): void {
    if (this.isOver) return;
    const fields = `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}`;
    const give = (text: string) => this.#give(`${fields}data: ${text.replaceAll('\n', '\ndata: ')}\n\n`);
    if (data.startsWith('[DONE]')) {
      // A server that knows one answer gives one, whatever was asked for.
      this.#requireEnd(0);
      give(data);
      this.done = true;
      return;
    }
    const value = this.#parsed(data);
    const meaning = this.#wire.meaning(value);
    this.#count(value);
    if (meaning === 'failure') {
      const masked = JSON.stringify(mapTexts(value, (text) => withoutSecrets(text, this.#mask)));
      const text = masked === JSON.stringify(value) ? data : masked;
      give(text);
      this.failure = text;
      return;
    }
    if (meaning !== 'usage' || !this.#hideUsage) give(data);
    for (const { place, finished } of this.#wire.parts(value))
      this.#parts.set(place, finished || this.#parts.get(place) === true);
    if (meaning !== 'last') return;
    this.#requireEnd(1);
    this.done = true;
  }

  /** @throws BrokenStream unless so many answers began, and each of them has finished */
  #requireEnd(answers: number): void {
    const unfinished = [...this.#parts].filter(([, finished]) => !finished).map(([place]) => place);
    if (unfinished.length === 0 && this.#parts.size >= answers) return;
    const which = this.#parts.size < 2 ? '' : ` of choice ${unfinished.join(', ') || this.#parts.size}`;
    throw new BrokenStream(`it ended before the answer did, without ${this.#wire.end}${which}`);
  }

  #parsed(data: string): Json {
    try {
      const value: unknown = JSON.parse(data);
      if (isObject(value)) return value;
    } catch {}
    throw new BrokenStream(`it has the data ${this.#shown(data)}, which is not a JSON object`);
  }

  #count(event: Json): void {
    this.#events++;
    for (const { holder, member } of this.#wire.deltas(event)) {
      const bytes = contentBytes(holder[member]);
      this.#contentBytes += bytes;
      if (bytes > 0) this.#eventsWithContent++;
    }
    const reported = this.#wire.usage(event, this.usage);
    if (reported === null) return;
    this.usage = reported;
    this.#contentAtUsage = this.#contentBytes;
  }

  #shown(text: string): string {
    const masked = withoutSecrets(text, this.#mask);
    return JSON.stringify(masked.length > 60 ? `${masked.slice(0, 60)}…` : masked);
  }
}

/** Members of a delta that no model wrote. */
const unwritten = new Set(['role', 'id', 'type', 'signature', 'thoughtSignature']);

/** Of every text in a delta that the model wrote, whatever its member is called. */
function contentBytes(value: unknown, depth = 0): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null || depth > maxDepth) return 0;
  let bytes = 0;
  for (const [name, inner] of Object.entries(value))
    if (!unwritten.has(name)) bytes += contentBytes(inner, depth + 1);
  return bytes;
}

/** Reads what is left, so that the connection can be used again, but not for long. */
export function drain(body: Readable): void {
  const timer = setTimeout(() => body.destroy(), graceMs).unref();
  body.once('close', () => clearTimeout(timer));
  body.resume();
}
