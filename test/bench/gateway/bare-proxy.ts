import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { Agent, request } from 'undici';

/** The yardstick: what a proxy costs that does nothing but pass bytes through. */
const [upstream] = process.argv.slice(2) as [string];
const dispatcher = new Agent({ pipelining: 1 });
const server = createServer(async (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const leaving = new AbortController();
  outgoing.once('close', () => leaving.abort());
  const headers = { 'content-type': 'application/json' };
  const body = Buffer.concat(chunks);
  const options = { method: 'POST', headers, body, dispatcher, signal: leaving.signal } as const;
  const answer = await request(`${upstream}${incoming.url!.replace('/v1', '')}`, options);
  outgoing.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
  pipeline(answer.body, outgoing, () => {});
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as { port: number }).port));
process.once('disconnect', () => process.exit());
