import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dialectStreams } from './dialects.ts';

const chunks = 100;
/** About 1 KB, as a short answer is. */
const whole = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'bench-1',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(150) },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 150, total_tokens: 170 },
});
const wholeHead = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(whole)) };
const streamHead = { 'content-type': 'text/event-stream' };

function event(delta: object, finish_reason: string | null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench-1', choices })}\n\n`;
}

const word = event({ content: 'word ' }, null);
const last = `${event({}, 'stop')}data: [DONE]\n\n`;
const large = event({ content: 'x'.repeat(64 * 1024) }, null);

const ofDialects = new Map(Object.values(dialectStreams).map(({ path, events }) => [`/v1/${path}`, events]));

export interface FakeUpstream {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Answers at once. A stream has 100 chunks: in a burst, `slow` with 5 ms between them, or `endless`: 512 MB as fast as they
 * are read, by the first message's text. Those of other dialects come in a burst.
 */
export async function startFakeUpstream(): Promise<FakeUpstream> {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    if (!text.includes('"stream":true')) {
      response.writeHead(200, wholeHead);
      response.end(whole);
      return;
    }
    response.writeHead(200, streamHead);
    const events = ofDialects.get(request.url!);
    if (events !== undefined) {
      const [first, word, last] = events;
      response.write(first);
      for (let sent = 0; sent < chunks; sent++) response.write(word);
      response.end(last);
      return;
    }
    if (text.includes('endless')) {
      for (let sent = 0; sent < 512 * 1024 * 1024 && !response.destroyed; sent += large.length) {
        if (!response.write(large)) await drained(response);
      }
    } else if (text.includes('slow')) {
      for (let sent = 0; sent < chunks && !response.destroyed; sent++) {
        response.write(word);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } else {
      for (let sent = 0; sent < chunks; sent++) response.write(word);
    }
    response.end(last);
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', 4_096);
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const events = ['drain', 'close'].map((name) => once(response, name, { signal: settled.signal }));
  await Promise.race(events);
  settled.abort();
  await Promise.allSettled(events);
}
