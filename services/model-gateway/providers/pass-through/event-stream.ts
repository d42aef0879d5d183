import type { Readable } from 'node:stream';
import { BrokenStream, drain, type EventReader } from './event-reader.ts';

/** Bytes of comments before the first event. */
const maxEarly = 64 * 1024;

/** Whole events of a stream; leaving them ends it upstream. @throws BrokenStream, and what reading throws */
export async function* eventsOf(body: Readable, reader: EventReader): AsyncGenerator<string> {
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      for (const part of reader.begun ? [piece] : firstApart(piece)) {
        const events = reader.push(part);
        if (events !== '') yield events;
        if (reader.isOver) return;
      }
    }
    const last = reader.end();
    if (last !== '') yield last;
  } finally {
    if (reader.done) drain(body);
    else body.destroy();
  }
}

/** The first event with the comments before it: they are no token, and another upstream may yet have to be asked. */
export async function firstOf(events: AsyncGenerator<string>, reader: EventReader): Promise<string> {
  let early = '';
  while (!reader.begun) {
    const { done, value } = await events.next();
    if (done) break;
    early += value;
    if (early.length > maxEarly && !reader.begun)
      throw new BrokenStream(`it has more than ${maxEarly} bytes before its first event`);
  }
  return early;
}

/** The first event of a piece and the rest: a client need not wait for a hundred events that came with the first to be read. */
function firstApart(piece: Buffer): Buffer[] {
  const end = piece.indexOf('\n\n') + 2;
  return end < 2 || end === piece.length ? [piece] : [piece.subarray(0, end), piece.subarray(end)];
}
