import type { IncomingHttpHeaders } from 'node:http';
import type { Mask } from './mask.ts';

/** Between two ends of one connection, and what is said of the body, which the gateway says itself. Source: RFC 9110, 7.6.1. */
const ofConnection = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'content-encoding',
];

/** Of a request: what is for this gateway alone, chooses who pays, or says where the client is. */
const ofCaller = new Set([
  ...ofConnection,
  ...['host', 'expect', 'content-type', 'accept', 'accept-encoding', 'via', 'origin', 'referer'],
  ...['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie'],
  ...['openai-organization', 'openai-project', 'chatgpt-account-id'],
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'],
  ...[
    'x-forwarded-prefix',
    'x-real-ip',
    'x-http-method-override',
    'x-http-method',
    'x-method-override',
    'x-request-id',
  ],
]);

/**
 * Those by which Google's servers take another payer or credential, or leave the usage out of the answer (`x-goog-fieldmask`), and
 * those of browsers.
 */
const steering = /^(?:x-goog-(?!api-client$)|sec-)/;

/** The headers of a client that go on to an upstream: all but those of the connection, credentials and cookies. */
export function requestHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return passed(headers, (name) => !ofCaller.has(name) && !steering.test(name));
}

/** What the official clients and the known agents say of themselves and of their request. */
const ofAgents =
  /^(?:user-agent|originator|x-app|x-goog-api-client|openai-beta|x-client-request-id|(?:session|thread|conversation)[-_]id|accept-language|anthropic-(?:version|beta|dangerous-direct-browser-access)|(?:x-stainless|x-claude-code|x-codex)-.+)$/;

/** Values by which the price stays what is known here, and no tool of the upstream is added. A run's others are left out. */
const betasOfRun: Readonly<Record<string, ReadonlySet<string>>> = {
  'openai-beta': new Set(['responses=experimental']),
  'anthropic-beta': new Set([
    ...['claude-code-20250219', 'interleaved-thinking-2025-05-14', 'context-management-2025-06-27'],
    ...['structured-outputs-2025-11-13', 'structured-outputs-2025-12-15', 'effort-2025-11-24'],
    ...['tool-search-tool-2025-10-19', 'advanced-tool-use-2025-11-20', 'token-counting-2024-11-01'],
    ...['prompt-caching-2024-07-31', 'prompt-caching-scope-2026-01-05', 'extended-cache-ttl-2025-04-11'],
    ...['fine-grained-tool-streaming-2025-05-14', 'token-efficient-tools-2025-02-19'],
    ...['token-efficient-tools-2026-03-28', 'compact-2026-01-12', 'compact-2026-09-04'],
    ...['computer-use-2024-10-22', 'computer-use-2025-01-24', 'computer-use-2025-11-24'],
    ...['redact-thinking-2026-02-12', 'dev-full-thinking-2025-05-14', 'thinking-token-count-2026-05-13'],
    ...['thinking-display-updates-2026-08-18', 'thinking-binding-controls-2026-08-01'],
    ...['task-budgets-2026-03-13', 'model-context-window-exceeded-2025-08-26', 'pdfs-2024-09-25'],
    ...['files-api-2025-04-14', 'output-128k-2025-02-19', 'cache-diagnosis-2026-04-07'],
  ]),
};

/** Of these, the headers that a run may send: proxies of models take their settings from others, an address too. */
export function headersOfRun(headers: Readonly<Record<string, string>>): Record<string, string> {
  const given = Object.entries(headers).flatMap(([name, value]) => {
    if (!ofAgents.test(name)) return [];
    const known = betasOfRun[name];
    if (known === undefined) return [[name, value] as const];
    const values = value.split(',').map((one) => one.trim());
    const text = values.filter((one) => known.has(one)).join(',');
    return text === '' ? [] : [[name, text] as const];
  });
  return Object.fromEntries(given);
}

/** Of a query, what a run may send. */
export function searchOfRun(search: string): string {
  return new URLSearchParams(search).get('beta') === 'true' ? '?beta=true' : '';
}

/** Of an answer: what is for this gateway alone, or what this gateway says itself. */
const ofServer = new Set([
  ...ofConnection,
  ...['set-cookie', 'set-cookie2', 'www-authenticate', 'proxy-authenticate', 'alt-svc', 'server', 'date'],
  ...['via', 'x-upstream', 'strict-transport-security', 'content-security-policy', 'referrer-policy'],
  ...['cache-control', 'x-content-type-options', 'x-frame-options', 'x-xss-protection', 'vary'],
]);

/** Whether a client may see it: all but those of the connection, cookies and what browsers go by. */
export function isAnswerHeader(name: string): boolean {
  return !ofServer.has(name) && !/^(?:cross-origin|access-control)-/.test(name);
}

/** The upstream's id of a request has another name for the client, as the gateway gives it an id of its own. */
const requestId = 'x-request-id';
export const upstreamRequestId = 'x-upstream-request-id';

/** The headers of an answer that go on to a client, masked. @param may whether one of that name does */
export function answerHeaders(
  headers: IncomingHttpHeaders,
  mask: Mask,
  may: (name: string) => boolean,
): Record<string, string> {
  const isGiven = (name: string) => name !== upstreamRequestId && may(name);
  const { [requestId]: id, ...others } = passed(headers, isGiven, mask);
  return id === undefined ? others : { ...others, [upstreamRequestId]: id };
}

/** Visible ASCII: what else stands in a header could not be given on as it is. */
export function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(text);
}

function passed(
  headers: IncomingHttpHeaders,
  may: (name: string) => boolean,
  mask?: Mask,
): Record<string, string> {
  const named = headersOfConnection(headers);
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || named.has(name) || !may(name)) continue;
    const text = Array.isArray(value) ? value.join(', ') : value;
    const shown = mask === undefined ? text : mask.hide(text);
    if (isHeaderText(shown)) given[name] = shown;
  }
  return given;
}

/** A sender names in `connection` what else is for the next hop alone. */
function headersOfConnection({ connection = '' }: IncomingHttpHeaders): ReadonlySet<string> {
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}
