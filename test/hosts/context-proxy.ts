import { createServer } from 'node:http';

/** `context-proxy.ts PORT URL…`: passes requests on to the core-context that is active, as the proxy of the guide does. */
const [port, ...upstreams] = process.argv.slice(2);
const answerMs = 5_000;

createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { method = 'GET', headers } = request;
  for (const upstream of upstreams) {
    try {
      const reply = await fetch(upstream + request.url, {
        method,
        signal: AbortSignal.timeout(answerMs),
        headers: {
          'x-forwarded-proto': 'https',
          ...(headers.authorization === undefined ? {} : { authorization: headers.authorization }),
          ...(headers['content-type'] === undefined ? {} : { 'content-type': headers['content-type'] }),
        },
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      });
      const body = Buffer.from(await reply.arrayBuffer());
      if (reply.status === 503) continue;
      response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' }).end(body);
      return;
    } catch {
      // The next one may answer.
    }
  }
  response.writeHead(502).end();
}).listen(Number(port), '127.0.0.1');
