import { type Usage, usageOf } from '../usage.ts';
import { wordsIn } from './delta-words.ts';
import { EventPieces, EventTooLarge } from './event-pieces.ts';
import { LoneReturns } from './lone-returns.ts';

/** What an upstream sent is no stream of a chat completion. */
export class BrokenStream extends Error {}

const fields = [':', 'data', 'event', 'id', 'retry'].map((text) => Buffer.from(text));
const data = Buffer.from('data:');
const done = Buffer.from('[DONE]');
const finishReason = Buffer.from('"finish_reason"');
const usageKey = Buffer.from('"usage"');
const errorKey = Buffer.from('"error"');
const newline = Buffer.from('\n');
const byteOrderMark = Buffer.from('\uFEFF');
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Reads a stream of a chat completion at the side: its usage, and whether it has come to its end. The bytes go on as they are,
 * but for the usage chunk of a client that did not ask for it. JSON is parsed only where there is usage or an error in it.
 */
export class StreamReader {
  readonly #returns = new LoneReturns();
  readonly #pieces: EventPieces;
  readonly #hideUsage: boolean;
  usage: Usage | null = null;
  /** `[DONE]` came. */
  done = false;
  /** A choice said why it ended. */
  finished = false;
  /** The event by which the upstream itself told of an error. */
  failure: Buffer | null = null;
  /** The piece at hand holds neither usage nor an error, so that its events need not be searched. */
  #isPlain = false;
  #first = true;
  #events = 0;
  #worded = 0;
  #words = 0;
  #wordsTold = 0;

  constructor({ hideUsage }: { readonly hideUsage: boolean }) {
    this.#hideUsage = hideUsage;
    this.#pieces = new EventPieces((event) => this.#look(event));
  }

  /** @throws BrokenStream */
  push(piece: Buffer): Buffer {
    try {
      const bytes = this.#returns.push(piece);
      const isWhole = this.#pieces.rest.length === 0;
      this.#isPlain = isWhole && bytes.indexOf(errorKey) === -1 && bytes.indexOf(usageKey) === -1;
      return this.#pieces.push(bytes);
    } catch (error) {
      if (error instanceof EventTooLarge) throw new BrokenStream(error.message);
      throw error;
    }
  }

  /** The upstream has ended. @throws BrokenStream where that is no end of an answer */
  end(): Buffer {
    const { rest } = this.#pieces;
    if (this.done) return Buffer.alloc(0);
    if (rest.length > 0) {
      // Some leave out the empty line after the last event.
      const last = this.push(Buffer.from(rest.at(-1) === 0x0a ? '\n' : '\n\n'));
      this.#checkEnd();
      return last;
    }
    this.#checkEnd();
    return rest;
  }

  /** An event with data came. */
  get begun(): boolean {
    return this.done || this.#events > 0;
  }

  /** Bytes of text, about: those of the deltas, and a token at least for each event that has some. */
  wordBytes(): number {
    return Math.max(4 * this.#worded, this.#words);
  }

  /** Words came after the usage that was told last. */
  get usageIsPartial(): boolean {
    return this.usage !== null && this.#words > this.#wordsTold;
  }

  #checkEnd(): void {
    if (this.done || this.finished || this.failure !== null) return;
    throw new BrokenStream('it ended before the answer did, without a finish_reason');
  }

  #look(event: Buffer): 'give' | 'hide' {
    // The answer is over; whatever an upstream says then is not for the client.
    if (this.done || this.failure !== null) return 'hide';
    let start = this.#first && begins(event, byteOrderMark) ? byteOrderMark.length : 0;
    this.#first = false;
    let payload: Buffer | null = null;
    for (let end = event.indexOf(0x0a); end !== -1; end = event.indexOf(0x0a, start)) {
      const stop = event[end - 1] === 0x0d ? end - 1 : end;
      if (stop > start) {
        if (begins(event, data, start)) {
          const from = start + data.length;
          const line = event.subarray(event[from] === 0x20 ? from + 1 : from, stop);
          payload = payload === null ? line : Buffer.concat([payload, newline, line]);
        } else checkField(event.subarray(start, stop));
      }
      start = end + 1;
    }
    return payload === null ? 'give' : this.#lookAt(payload);
  }

  #lookAt(payload: Buffer): 'give' | 'hide' {
    if (begins(payload, done)) {
      this.done = true;
      return 'give';
    }
    if (payload[0] !== openBrace || payload[endOf(payload) - 1] !== closeBrace) {
      throw new BrokenStream(`it has the data ${shown(payload)}, which is not a JSON object`);
    }
    this.#count(payload);
    if (hasValue(payload, finishReason, 0x22)) this.finished = true;
    if (this.#isPlain) return 'give';
    // In a text of the model its quotes would be escaped.
    const mayFail = payload.indexOf(errorKey) !== -1;
    if (!mayFail && !hasValue(payload, usageKey, openBrace)) return 'give';
    const chunk = parsed(payload);
    if (mayFail && tellsError(chunk)) this.failure = Buffer.from(payload);
    return this.#readUsage(chunk);
  }

  #readUsage(chunk: Chunk): 'give' | 'hide' {
    const usage = usageOf(chunk.usage);
    if (usage === null) return 'give';
    this.usage = usage;
    this.#wordsTold = this.#words;
    return this.#hideUsage && Array.isArray(chunk.choices) && chunk.choices.length === 0 ? 'hide' : 'give';
  }

  #count(payload: Buffer): void {
    this.#events++;
    const words = wordsIn(payload);
    if (words === 0) return;
    this.#worded++;
    this.#words += words;
  }
}

interface Chunk {
  readonly usage?: unknown;
  readonly choices?: unknown;
  readonly error?: unknown;
}

function parsed(payload: Buffer): Chunk {
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw new BrokenStream(`it has the data ${shown(payload)}, which is not JSON`);
  }
}

/** Of the stream or of a choice, however the upstream goes on. */
function tellsError({ error, choices }: Chunk): boolean {
  if (error != null) return true;
  return Array.isArray(choices) && choices.some((choice) => choice?.finish_reason === 'error');
}

function begins(bytes: Buffer, text: Buffer, from = 0): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text[at]) return false;
  return true;
}

function checkField(line: Buffer): void {
  if (!fields.some((field) => begins(line, field))) throw new BrokenStream(`it has the line ${shown(line)}`);
}

/** Past what trailing spaces there are. */
function endOf(payload: Buffer): number {
  let end = payload.length;
  while (end > 0 && payload[end - 1]! <= 0x20) end--;
  return end;
}

/** Whether a value that begins with `first` follows the key, which may also stand in a text: then in vain. */
function hasValue(json: Buffer, key: Buffer, first: number): boolean {
  for (let at = json.indexOf(key); at !== -1; at = json.indexOf(key, at + key.length)) {
    let next = at + key.length;
    while (json[next]! <= 0x20) next++;
    if (json[next] !== 0x3a) continue;
    next++;
    while (json[next]! <= 0x20) next++;
    if (json[next] === first) return true;
  }
  return false;
}

function shown(line: Buffer): string {
  const text = line.toString('utf8', 0, 60);
  return JSON.stringify(line.length > 60 ? `${text}…` : text);
}
