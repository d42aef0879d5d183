/** A larger event, in bytes, is no part of an answer. */
const largestEvent = 16 * 1024 * 1024;
const newline = 0x0a;
const carriageReturn = 0x0d;

export type EventCheck = (event: Buffer) => 'give' | 'hide';

export class EventTooLarge extends Error {}

/**
 * Cuts a `text/event-stream` at the ends of its events, whatever the pieces in which it comes. Bytes of whole events are given
 * on as they came, without a copy where a piece holds nothing else.
 */
export class EventPieces {
  readonly #check: EventCheck;
  #held: Buffer = Buffer.alloc(0);
  #heldLength = 0;
  /** Where the line begins that has no end yet, in what is held. */
  #lineStart = 0;

  constructor(check: EventCheck) {
    this.#check = check;
  }

  /** Bytes of events that have ended; empty while none has. @throws EventTooLarge, and what the check throws */
  push(piece: Buffer): Buffer {
    if (this.#heldLength === 0) return this.#cut(piece, 0, 0, false);
    const searched = this.#heldLength;
    this.#hold(piece);
    return this.#cut(this.#held.subarray(0, this.#heldLength), this.#lineStart, searched, true);
  }

  /** What came after the last whole event. */
  get rest(): Buffer {
    return this.#held.subarray(0, this.#heldLength);
  }

  #cut(bytes: Buffer, firstLine: number, searched: number, held: boolean): Buffer {
    const given: Buffer[] = [];
    let from = 0;
    let event = 0;
    let line = firstLine;
    for (let end = bytes.indexOf(newline, searched); end !== -1; end = bytes.indexOf(newline, line)) {
      const empty = end === line || (end === line + 1 && bytes[line] === carriageReturn);
      line = end + 1;
      if (!empty) continue;
      if (this.#check(bytes.subarray(event, line)) === 'hide') {
        if (event > from) given.push(bytes.subarray(from, event));
        from = line;
      }
      event = line;
    }
    if (event > from) given.push(bytes.subarray(from, event));
    const whole = given.length === 1 ? given[0]! : Buffer.concat(given);
    const out = held && given.length === 1 ? Buffer.from(whole) : whole;
    this.#lineStart = line - event;
    if (held) {
      this.#held.copyWithin(0, event, this.#heldLength);
      this.#heldLength -= event;
      if (this.#heldLength === 0) this.#held = Buffer.alloc(0);
    } else if (event < bytes.length) {
      this.#hold(bytes.subarray(event));
    }
    return out;
  }

  #hold(piece: Buffer): void {
    const length = this.#heldLength + piece.length;
    if (length > largestEvent) throw new EventTooLarge(`an event has more than ${largestEvent} bytes`);
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#held.length, 512));
      this.#held.copy(larger, 0, 0, this.#heldLength);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#heldLength);
    this.#heldLength = length;
  }
}
