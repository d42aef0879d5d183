const newline = 0x0a;
const carriageReturn = 0x0d;
const missing = Buffer.of(newline);

/**
 * A `text/event-stream` whose lines end with a carriage return alone, which hardly a client reads, with newlines in their place.
 * Streams with other ends of lines stay as they are. Source: HTML, "Parsing an event stream".
 */
export class LoneReturns {
  /** What became of a return that was the last byte of a piece: nobody knew yet whether a newline follows. */
  #last: 'none' | 'kept' | 'replaced' = 'none';
  /** A return stood alone before, so that the next ones will. */
  #alone = false;

  /** Changes `piece` in place. */
  push(piece: Buffer): Buffer {
    if (piece.length === 0) return piece;
    const first = piece.indexOf(carriageReturn);
    if (first === -1 && this.#last === 'none') return piece;
    const follows = piece[0] === newline;
    const isLate = this.#last === 'kept' && !follows;
    const from = this.#last === 'replaced' && follows ? 1 : 0;
    if (isLate) this.#alone = true;
    this.#last = 'none';
    if (first !== -1) this.#replace(piece, first);
    return isLate ? Buffer.concat([missing, piece]) : from === 1 ? piece.subarray(from) : piece;
  }

  #replace(piece: Buffer, first: number): void {
    const end = piece.length - 1;
    for (let at = first; at !== -1; at = piece.indexOf(carriageReturn, at + 1)) {
      if (at === end) {
        this.#last = this.#alone ? 'replaced' : 'kept';
        if (this.#alone) piece[at] = newline;
      } else if (piece[at + 1] !== newline) {
        this.#alone = true;
        piece[at] = newline;
      }
    }
  }
}
