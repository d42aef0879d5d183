import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { type ReadMessage, type Refusal, readMessage, rpcErrors } from './message.ts';

type WriteHead = (status: number, headers: Readonly<Record<string, string>>) => void;

/**
 * Answers one POST of the protocol's streamable HTTP, without sessions: nothing is kept from one request to the next, so that a
 * restart loses none. Access is the caller's to check before. A client that accepts only JSON gets JSON, without progress.
 * @param server for this request alone
 */
export async function answerMcp(
  server: Server,
  { headers, body }: { readonly headers: Readonly<IncomingHttpHeaders>; readonly body: Uint8Array },
  response: ServerResponse,
  writeHead: WriteHead = (status, head) => void response.writeHead(status, head),
): Promise<void> {
  const refuse = (status: number, refusal: Refusal) => answerJson(response, status, refusal, writeHead);
  const read = readBytes(body);
  if ('refusal' in read) {
    const { code } = read.refusal.error;
    const isAnswer = code === rpcErrors.noMethod || code === rpcErrors.badParams;
    return refuse(isAnswer ? 200 : 400, read.refusal);
  }
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) {
    const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
    const message = `mcp-protocol-version is ${JSON.stringify(version)}: must be one of ${known}`;
    return refuse(400, { jsonrpc: '2.0', id: null, error: { code: rpcErrors.notMessage, message } });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: wantsJson(headers.accept),
  });
  // Their types differ in what may be undefined.
  await server.connect(transport as Parameters<Server['connect']>[0]);
  try {
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: `${json}, ${events}` },
    });
    const answer = await transport.handleRequest(request, { parsedBody: read.message });
    writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body as never), response);
  } finally {
    // Ends the calls of a client that has left.
    await server.close();
  }
}

function answerJson(
  response: ServerResponse,
  status: number,
  refusal: Refusal,
  writeHead: WriteHead = (status, head) => void response.writeHead(status, head),
): void {
  writeHead(status, { 'content-type': json });
  response.end(JSON.stringify(refusal));
}

const json = 'application/json';
const events = 'text/event-stream';

/** True if a client accepts JSON and no events. A client that does not say, such as curl, gets events. */
function wantsJson(accept: string | undefined): boolean {
  const types = (accept ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, ...parameters]) => !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one)))
    .map(([type]) => type!);
  const takes = (type: string) => types.includes(type) || types.includes(type.replace(/\/.*/, '/*'));
  return takes(json) && !takes(events) && !types.includes('*/*');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads UTF-8, with or without a byte order mark. */
function readBytes(body: Uint8Array): ReadMessage {
  try {
    return readMessage(utf8.decode(body));
  } catch {
    const error = { code: rpcErrors.notJson, message: 'the message is not UTF-8' };
    return { refusal: { jsonrpc: '2.0', id: null, error } };
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
    const type = request.headers['content-type'] ?? '';
    if (type.split(';')[0]!.trim().toLowerCase() !== json) {
      const given = type === '' ? 'missing' : JSON.stringify(type);
      const message = `content-type is ${given}: must be ${json}`;
      answerJson(response, 415, { jsonrpc: '2.0', id: null, error: { code: rpcErrors.notMessage, message } });
      return;
    }
    const body = await bodyUpTo(request, limit);
    if (body === null) response.writeHead(413, { connection: 'close' }).end();
    else await answerMcp(makeServer(), { headers: request.headers, body }, response);
  };
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
