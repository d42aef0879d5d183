import type { Agent, IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { guarded } from '../callbacks.ts';
import { Agent as PlainAgent, request } from './node-http.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  /** Milliseconds until the answer begins, and between two pieces of it. */
  readonly idleMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Of `openAgent`. */
  readonly agent: Agent;
}

/** Thrown, or by the answer where it is read, when a server takes longer than allowed. */
export class TooLate extends Error {}

const connectMs = 10_000;

/** Keeps connections to a server open. */
export function openAgent(url: string): Agent {
  const TlsAgent = () => process.getBuiltinModule('node:https').Agent;
  return new (url.startsWith('https:') ? TlsAgent() : PlainAgent)({ keepAlive: true });
}

/** One request by Node's own client, which takes a tenth of undici's time to load: services reach each other by it as they start. */
export function exchange(
  url: URL,
  { method, headers, body, idleMs, signal, agent }: Exchange,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let answer: IncomingMessage | null = null;
    const end = (why: Error) => (answer ?? sent).destroy(why);
    const sent = request(url, { method, headers, agent, timeout: idleMs, maxHeaderSize: 32_768 });
    const connecting = setTimeout(
      guarded('an HTTP connection', () => end(new TooLate('no connection in time'))),
      connectMs,
    );
    sent.once(
      'socket',
      guarded('an HTTP connection', (socket) => {
        if (socket.connecting) socket.once('connect', () => clearTimeout(connecting));
        else clearTimeout(connecting);
      }),
    );
    // With pieces that nobody has read yet it is the reader who takes time.
    sent.on(
      'timeout',
      guarded('an HTTP connection', () => answer?.readableLength || end(new TooLate('no answer in time'))),
    );
    const stop = guarded('an HTTP connection', () => end(signal!.reason));
    signal?.addEventListener('abort', stop);
    sent.once(
      'close',
      guarded('an HTTP connection', () => {
        clearTimeout(connecting);
        signal?.removeEventListener('abort', stop);
      }),
    );
    sent.on('error', reject);
    sent.once(
      'response',
      guarded(
        'an HTTP connection',
        (response) => {
          answer = response;
          resolve(response);
        },
        reject,
      ),
    );
    if (body === undefined || typeof body === 'string') sent.end(body);
    else pipeline(body, sent, (error) => error && reject(error));
  });
}
