import { Readable, Writable } from 'node:stream';
import { type AnyMessage, ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { guarded } from '#kit/callbacks.ts';
import { messageLines } from './message-lines.ts';

/** Of one message; a whole file comes in one. */
const maxMessageBytes = 32 * 1024 * 1024;
/** Questions of an agent that may wait for their answers to be read; each may hold a whole file. */
const maxOpenQuestions = 8;

/**
 * The messages of an agent, within bounds.
 * @param onForeign gets what it prints between them
 * @param onError gets what ended them (`agent_flooded`)
 */
export function agentStream(
  { stdin, stdout }: { readonly stdin: Writable; readonly stdout: Readable },
  onForeign: (line: string) => void,
  onError: (error: Error) => void,
): Stream & { close(): void } {
  const lines = messageLines(onForeign);
  lines.on('error', guarded('a coding agent', onError));
  stdout.on(
    'error',
    guarded('a coding agent', () => lines.end()),
  );
  // An agent that has ended reads no more; its end is seen elsewhere.
  stdin.on('error', () => {});
  stdout.pipe(lines);
  const output = Readable.toWeb(lines) as ReadableStream<Uint8Array>;
  const stream = ndJsonStream(Writable.toWeb(stdin), output, { maxMessageBytes });
  return {
    ...withinBounds(stream),
    close() {
      stdout.unpipe(lines);
      // Nobody reads what still comes, and the pipe must not fill.
      stdout.resume();
      lines.destroy();
      stdin.end();
    },
  };
}

/**
 * Drops answers to what was never asked: the library prints their ids, which may be anything. An agent that does not read what it
 * asks for is not read either: the library keeps answers without a bound.
 */
function withinBounds({ readable, writable }: Stream): Stream {
  const asked = new Set<unknown>();
  let open = 0;
  let answered = Promise.withResolvers<void>();
  const outgoing = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      controller.enqueue(message);
      if ('method' in message) {
        if ('id' in message) asked.add(message.id);
        return;
      }
      open -= 1;
      answered.resolve();
      answered = Promise.withResolvers();
    },
  });
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    async transform(message, controller) {
      if ('method' in message) {
        if ('id' in message) {
          while (open >= maxOpenQuestions) await answered.promise;
          open += 1;
        }
        controller.enqueue(message);
      } else if (!('id' in message) || asked.delete(message.id)) controller.enqueue(message);
    },
  });
  outgoing.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(incoming), writable: outgoing.writable };
}
