import type { Duplex } from 'node:stream';
import { headerLength, writeHeader } from './text-frame.ts';
import type { Flushable, Turn } from './turn.ts';

/** Larger pieces are handed to the socket as they are instead of copied behind others. */
const copyBelow = 16_384;
/** So many bytes are handed to the socket at a time when it reads again. */
const portion = 1024 * 1024;

interface Entry<Mark> {
  /** The payload of one text frame, in pieces. */
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  /** Whether the pieces are parts of larger buffers of others. */
  readonly borrowed: boolean;
  readonly mark: Mark | null;
}

/** A marked frame that never left. */
export interface TakenBack<Mark> {
  readonly payload: Uint8Array;
  readonly mark: Mark;
}

/**
 * Frames on their way to one connection: those of one turn leave in one write, and while the other side does not read they wait here.
 * What waits here has not left, so that it can still go elsewhere.
 */
export class Outbox<Mark> implements Flushable {
  readonly #socket: Duplex;
  readonly #turn: Turn;
  #entries: Entry<Mark>[] = [];
  #queuedBytes = 0;
  #asked = false;
  #blocked = false;
  #closed = false;
  #pushedBytes = 0;

  constructor(socket: Duplex, turn: Turn) {
    this.#socket = socket;
    this.#turn = turn;
    socket.on('drain', () => {
      this.#blocked = false;
      this.flush();
    });
  }

  /** Bytes that the other side has not taken yet. */
  get waiting(): number {
    return this.#queuedBytes + this.#socket.writableLength;
  }

  /** Bytes that the other side has taken, counted when all of one write are. */
  get taken(): number {
    return this.#pushedBytes - this.waiting;
  }

  /** Bytes of the write that it is taking now. */
  get leaving(): number {
    return this.#socket.writableLength;
  }

  /** @param mark what `takeBack` gives, with the payload, when the frame never left */
  push(pieces: readonly Uint8Array[], mark: Mark | null = null): void {
    if (this.#closed) return;
    let bytes = 0;
    for (const piece of pieces) bytes += piece.length;
    const entry = { pieces, bytes, borrowed: true, mark };
    this.#entries.push(this.#blocked ? owned(entry) : entry);
    this.#queuedBytes += bytes;
    this.#pushedBytes += bytes;
    if (this.#blocked || this.#asked) return;
    this.#asked = true;
    this.#turn.add(this);
  }

  pushText(text: string, mark: Mark | null = null): void {
    this.push([Buffer.from(text)], mark);
  }

  flush(): void {
    this.#asked = false;
    while (!this.#closed && !this.#blocked && this.#entries.length > 0) {
      const entries = this.#nextPortion();
      this.#blocked = !writeFrames(this.#socket, entries);
    }
    if (this.#blocked) this.#entries = this.#entries.map(owned);
  }

  /** Nothing leaves any more; gives what has not. */
  takeBack(): TakenBack<Mark>[] {
    this.#closed = true;
    const back = this.#entries.flatMap(({ pieces, bytes, mark }) =>
      mark === null ? [] : [{ payload: Buffer.concat(pieces, bytes), mark }],
    );
    this.#entries = [];
    this.#queuedBytes = 0;
    return back;
  }

  #nextPortion(): readonly Entry<Mark>[] {
    let count = 0;
    let bytes = 0;
    while (count < this.#entries.length && bytes < portion) bytes += this.#entries[count++]!.bytes;
    this.#queuedBytes -= bytes;
    if (count < this.#entries.length) return this.#entries.splice(0, count);
    const all = this.#entries;
    this.#entries = [];
    return all;
  }
}

/** What is kept for long must not keep the whole buffer that it was read into. */
function owned<Mark>(entry: Entry<Mark>): Entry<Mark> {
  if (!entry.borrowed) return entry;
  return { ...entry, pieces: [Buffer.concat(entry.pieces, entry.bytes)], borrowed: false };
}

/** Whether the socket takes more. */
function writeFrames<Mark>(socket: Duplex, entries: readonly Entry<Mark>[]): boolean {
  socket.cork();
  let from = 0;
  let size = 0;
  let takesMore = true;
  for (let at = 0; at < entries.length; at++) {
    const { bytes } = entries[at]!;
    if (bytes < copyBelow) {
      size += headerLength(bytes) + bytes;
      continue;
    }
    if (size > 0) takesMore = socket.write(together(entries, from, at, size));
    takesMore = writeLarge(socket, entries[at]!);
    from = at + 1;
    size = 0;
  }
  if (size > 0) takesMore = socket.write(together(entries, from, entries.length, size));
  socket.uncork();
  return takesMore;
}

function together<Mark>(entries: readonly Entry<Mark>[], from: number, to: number, size: number): Buffer {
  const all = Buffer.allocUnsafe(size);
  let offset = 0;
  for (let at = from; at < to; at++) {
    const { pieces, bytes } = entries[at]!;
    offset = writeHeader(all, offset, bytes);
    for (const piece of pieces) {
      all.set(piece, offset);
      offset += piece.length;
    }
  }
  return all;
}

function writeLarge<Mark>(socket: Duplex, { pieces, bytes }: Entry<Mark>): boolean {
  const header = Buffer.allocUnsafe(headerLength(bytes));
  writeHeader(header, 0, bytes);
  let takesMore = socket.write(header);
  for (const piece of pieces) takesMore = socket.write(piece);
  return takesMore;
}
