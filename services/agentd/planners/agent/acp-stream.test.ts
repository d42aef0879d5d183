import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { agentStream } from './acp-stream.ts';

describe('The messages of an agent', () => {
  it('are read no further while it leaves the answers to its questions unread', async () => {
    const [stdin, stdout] = [new PassThrough({ highWaterMark: 1 }), new PassThrough()];
    const stream = agentStream(
      { stdin, stdout },
      () => {},
      (error) => {
        throw error;
      },
    );
    const ids = Array.from({ length: 40 }, (_, id) => id);
    for (const id of ids) stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'read' })}\n`);
    stdout.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'last' })}\n`);

    const read: unknown[] = [];
    const reader = stream.readable.getReader();
    const writer = stream.writable.getWriter();
    const all = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        const message = next.value as { id?: number; method: string };
        read.push(message.id ?? message.method);
        if (message.method === 'last') return;
        writer.write({ jsonrpc: '2.0', id: message.id!, result: 'x'.repeat(100) }).catch(() => {});
      }
    })();
    await delay(100);
    // Some answers are on their way into the pipe.
    expect(read.length).to.be.below(20);
    stdin.resume();
    await all;
    expect(read).to.deep.equal([...ids, 'last']);
    stream.close();
  });
});
