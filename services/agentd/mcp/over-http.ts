import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';

type WriteHead = (status: number, headers: Readonly<Record<string, string>>) => void;

/** The headers of a request that the protocol reads. */
const readHeaders = ['content-type', 'mcp-protocol-version'] as const;
/** Clients of the protocol take both; programs without it, such as curl, seldom say so. */
const accept = 'application/json, text/event-stream';

/**
 * Answers one POST of the protocol's streamable HTTP, without sessions: nothing is kept from one request to the next, so that a
 * restart loses none. Access is the caller's to check before.
 * @param server for this request alone
 */
export async function answerMcp(
  server: Server,
  { headers, body }: { readonly headers: Readonly<IncomingHttpHeaders>; readonly body: Uint8Array },
  response: ServerResponse,
  writeHead: WriteHead = (status, head) => void response.writeHead(status, head),
): Promise<void> {
  const transport = new WebStandardStreamableHTTPServerTransport();
  // Their types differ in what may be undefined.
  await server.connect(transport as Parameters<Server['connect']>[0]);
  try {
    const given = readHeaders.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { ...Object.fromEntries(given), accept },
      body: Buffer.from(body),
    });
    const answer = await transport.handleRequest(request);
    writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body as never), response);
  } finally {
    // Ends the calls of a client that has left.
    await server.close();
  }
}

/**
 * The same for a server of its own, such as one on a Unix socket: other methods are refused, as there are no sessions.
 * @param limit bytes of a body
 */
export function mcpListener(makeServer: () => Server, limit = 1024 * 1024) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const body = await bodyUpTo(request, limit);
    if (body === null) response.writeHead(413, { connection: 'close' }).end();
    else if (isBatch(body)) refuseBatch(response);
    else await answerMcp(makeServer(), { headers: request.headers, body }, response);
  };
}

/** One version of the protocol had batches. As the transport reads it: a mark of the byte order and white space may come first. */
function isBatch(body: Buffer): boolean {
  return new TextDecoder().decode(body).trimStart().startsWith('[');
}

function refuseBatch(response: ServerResponse): void {
  const error = { code: -32600, message: 'a request has one message: batches are not taken' };
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}

/** null where there is more. */
async function bodyUpTo(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
