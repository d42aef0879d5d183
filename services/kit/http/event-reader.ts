import { Failed } from '../errors.ts';

export interface ReceivedEvent {
  readonly id: string | null;
  /** `message` where the stream does not say. */
  readonly event: string;
  readonly data: string;
}

const eventLimit = 8 * 1024 * 1024;

/** Events of a `text/event-stream`, as the HTML standard parses them; an unfinished last one is dropped. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncIterable<ReceivedEvent> {
  let id: string | null = null;
  let event = '';
  let data: string[] = [];
  let size = 0;
  for await (const line of readLines(chunks)) {
    if (line === '') {
      if (data.length > 0) yield { id, event: event || 'message', data: data.join('\n') };
      event = '';
      data = [];
      size = 0;
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id' && !value.includes('\0')) id = value;
    if (field === 'event') event = value;
    if (field !== 'data') continue;
    data.push(value);
    size += value.length;
    if (size > eventLimit) throw tooLarge();
  }
}

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be half of a line's end.
    const whole = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const lines = whole.split(/\r\n|\n|\r/);
    rest = lines.pop()! + (whole === rest ? '' : '\r');
    if (rest.length > eventLimit) throw tooLarge();
    yield* lines;
  }
}

function tooLarge(): Failed {
  return new Failed('event_too_large', `an event has more than ${eventLimit} characters`);
}
