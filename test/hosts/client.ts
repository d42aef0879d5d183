import { setTimeout as pause } from 'node:timers/promises';
import type { Host, Port } from './host.ts';
import { type Random, shuffled } from './random.ts';

export interface Reply {
  readonly status: number;
  readonly host: string;
  // biome-ignore lint/suspicious/noExplicitAny: what services answer, as their contracts say it
  readonly json: any;
  /** Where the answer has many lines of JSON. */
  readonly lines: readonly string[];
}

interface Asking {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const answerMs = 5_000;

/** Asks a random host, and after an error another one, as a proxy in front of them and a patient client do. */
export class Client {
  readonly #hosts: readonly Host[];
  readonly #token: string;
  readonly #random: Random;
  /** Nobody asks any more. */
  readonly signal: AbortSignal;

  constructor(hosts: readonly Host[], token: string, random: Random, signal: AbortSignal) {
    this.#hosts = hosts;
    this.#token = token;
    this.#random = random;
    this.signal = signal;
  }

  /** Until there is an answer that says more than that this host cannot now. @throws once nobody asks any more */
  async anywhere(port: Port, path: string, asking: Asking = {}): Promise<Reply> {
    for (;;) {
      for (const host of shuffled(this.#random, this.#hosts)) {
        this.signal.throwIfAborted();
        const reply = await this.once(host, port, path, asking);
        if (reply !== null && reply.status < 500 && reply.status !== 429) return reply;
      }
      await pause(300);
    }
  }

  /** null where no whole answer came. */
  async once(host: Host, port: Port, path: string, asking: Asking = {}): Promise<Reply | null> {
    const { method = 'GET', body, token = this.#token, headers = {} } = asking;
    try {
      const reply = await fetch(host.url(port) + path, {
        method,
        signal: AbortSignal.any([AbortSignal.timeout(answerMs), this.signal]),
        headers: {
          authorization: `Bearer ${token}`,
          'x-forwarded-proto': 'https',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await reply.text();
      const isLines = reply.headers.get('content-type')?.includes('jsonl') === true;
      const lines = isLines ? text.split('\n').filter(Boolean) : [];
      const json = isLines || text === '' ? null : JSON.parse(text);
      return { status: reply.status, host: host.name, json, lines };
    } catch {
      return null;
    }
  }
}
