import type { Readable } from 'node:stream';
import { BrokenStream, drain, type EventReader } from './event-reader.ts';

/** Bytes of comments before the first event. */
const maxEarly = 64 * 1024;

/** Whole events of a stream; leaving them ends it upstream. @throws BrokenStream, and what reading throws */
export async function* eventsOf(body: Readable, reader: EventReader): AsyncGenerator<string> {
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      const events = reader.push(piece);
      if (events !== '') yield events;
      if (reader.isOver) return;
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
