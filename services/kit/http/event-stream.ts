import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Failed } from '../errors.ts';
import type { EventSink, ServerSentEvent } from './route.ts';

const heartbeatMs = 15_000;
/** A client that lets this much pile up, in bytes, waits for the rest. */
const highWaterMark = 256 * 1024;

export interface EventStream {
  readonly output: PassThrough;
  readonly sink: EventSink;
  end(): void;
}

/** A `text/event-stream`: begins with the time after which to come again, and stays awake with comments. */
export function openEventStream(signal: AbortSignal): EventStream {
  const output = new PassThrough({ highWaterMark });
  const gone = new AbortController();
  const heartbeat = setInterval(() => output.write(': still here\n\n'), heartbeatMs);
  heartbeat.unref();
  output.once('close', () => {
    clearInterval(heartbeat);
    gone.abort();
  });
  output.on('error', () => {});
  output.write('retry: 2000\n\n');
  const both = AbortSignal.any([signal, gone.signal]);
  return {
    output,
    sink: {
      signal: both,
      async send(event) {
        if (both.aborted || output.write(lines(event))) return;
        await once(output, 'drain', { signal: both }).catch(() => {});
      },
    },
    end: () => output.end(),
  };
}

function lines({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

export interface ReceivedEvent {
  readonly id: string | null;
  /** `message` where the stream does not say. */
  readonly event: string;
  readonly data: string;
}

const eventLimit = 8 * 1024 * 1024;

/**
 * Events of a `text/event-stream`, as the HTML standard parses them; an unfinished last one is dropped. eventsource-parser gives others
 * where a chunk ends between a carriage return and what follows it.
 */
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
