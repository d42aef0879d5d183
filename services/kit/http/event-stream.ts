import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { guarded } from '../callbacks.ts';
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
  const heartbeat = setInterval(
    guarded('an HTTP connection', () => output.write(': still here\n\n')),
    heartbeatMs,
  );
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
  /** null where the event has none. */
  readonly id: string | null;
  /** `message` where the stream does not say. */
  readonly event: string;
  readonly data: string;
}

const eventLimit = 8 * 1024 * 1024;

/** Events of a `text/event-stream`; an unfinished last one is dropped. @throws Failed (`event_too_large`) */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncIterable<ReceivedEvent> {
  const decoder = new TextDecoder();
  const events: ReceivedEvent[] = [];
  const parser = createParser({
    maxBufferSize: eventLimit,
    onEvent: ({ id = null, event = 'message', data }) => events.push({ id, event, data }),
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded')
        throw new Failed('event_too_large', `an event has more than ${eventLimit} characters`);
    },
  });
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
}
