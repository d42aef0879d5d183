import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type IIIClient, registerWorker } from 'iii-sdk';
import { type ClientOptions, WebSocket } from 'ws';
import type { Logger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens, type Scope } from '#kit/tokens/tokens.ts';
import { type BusService, composeBus } from '../../services/bus-engine/compose.ts';
import { type BusConfig, readBusConfig } from '../../services/bus-engine/configuration.ts';
import type { Clock } from '../../services/bus-engine/cron/cron-clock.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every shape
export type Frame = any;

/** An engine to test: ours in this process, or an iii elsewhere. */
export interface BusUnderTest {
  readonly url: string;
  /** Of HTTP triggers. */
  readonly httpUrl: string;
  /** Headers of an upgrade that is let in. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface OwnEngine extends BusUnderTest {
  readonly service: BusService;
  readonly folder: string;
  /** Makes a token and gives the headers with it. */
  token(name: string, scopes?: readonly Scope[]): Readonly<Record<string, string>>;
  revoke(name: string): Promise<void>;
  /** What was logged, level and message. */
  readonly log: readonly string[];
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Keeps what an earlier engine stored. */
  readonly folder?: string;
  readonly change?: (config: BusConfig) => BusConfig;
  readonly clock?: Clock;
}

/** Our own engine in this process, on free ports. */
export async function openEngine({
  folder = temporaryFolder(),
  change = (config) => config,
  clock,
}: EngineOptions = {}): Promise<OwnEngine> {
  const folders = { config: join(folder, 'config'), tokens: join(folder, 'config/tokens') };
  const config = change(readBusConfig({ folders, environment: {} }));
  const log: string[] = [];
  const service = composeBus({
    folder: join(folder, 'state/bus'),
    config,
    configFiles: { shipped: 'config/bus.json', user: null },
    tokens: openTokens(folders),
    redactor: new Redactor(),
    logger: listLogger(log),
    version: '0.0.0-test',
    ...(clock === undefined ? {} : { clock }),
  });
  const sockets = createServer((_request, response) => response.writeHead(404).end());
  sockets.on('upgrade', service.upgrade);
  const triggers = createServer(service.surface);
  for (const server of [sockets, triggers]) await once(server.listen(0, '127.0.0.1'), 'listening');
  service.engine.start();
  const [url, httpUrl] = [`ws://127.0.0.1:${portOf(sockets)}`, `http://127.0.0.1:${portOf(triggers)}`];

  function token(name: string, scopes: readonly Scope[] = ['read', 'plan']): Record<string, string> {
    return { authorization: `Bearer ${createToken(folders, { name, scopes }).text}` };
  }

  return {
    url,
    httpUrl,
    headers: token('worker'),
    service,
    folder,
    token,
    log,
    async revoke(name) {
      const { revokeToken } = await import('#kit/tokens/tokens.ts');
      revokeToken(folders, name);
    },
    async close() {
      const closed = [sockets, triggers].map((server) => once(server.close(), 'close'));
      service.disconnect();
      triggers.closeAllConnections();
      sockets.closeAllConnections();
      await Promise.all(closed);
      service.close();
    },
  };
}

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port;
}

function listLogger(lines: string[]): Logger {
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const logger: Logger = {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: () => {},
    child: () => logger,
  };
  return logger;
}

const sdkClients: IIIClient[] = [];
const rawPeers: RawPeer[] = [];
const quiet = { debug: console.debug, error: console.error };

/** What the SDK printed as errors since `closeClients`. */
export const printed: string[] = [];

/** The official SDK, quick to come back. Closed by `closeClients`. */
export function sdkWorker({ url, headers }: BusUnderTest, workerName: string): IIIClient {
  // It logs every connection on the console.
  console.debug = () => {};
  console.error = (...words) => void printed.push(words.join(' '));
  const client = registerWorker(url, {
    workerName,
    headers: { ...headers },
    enableMetricsReporting: false,
    otel: { enabled: false },
    reconnectionConfig: { initialDelayMs: 20, maxDelayMs: 200 },
  });
  sdkClients.push(client);
  return client;
}

export async function closeClients(): Promise<void> {
  for (const client of sdkClients.splice(0)) await client.shutdown();
  for (const peer of rawPeers.splice(0)) peer.ws.terminate();
  printed.length = 0;
  Object.assign(console, quiet);
}

/** A peer that speaks frames, in the test's own words. */
export interface RawPeer {
  readonly ws: WebSocket;
  /** What came and was not taken yet. */
  readonly frames: Frame[];
  readonly workerId: string;
  readonly reattachToken: string;
  send(frame: Frame): void;
  /** Takes the first frame that has these members, now or later. */
  next(members: Frame): Promise<Frame>;
  /** Resolves with the result or the error of a call. */
  call(functionId: string, data: unknown, more?: Frame): Promise<Frame>;
  /** Answers ping, so that everything sent before has been handled. */
  settled(): Promise<void>;
  readonly closed: Promise<number>;
}

export async function rawPeer(
  { url, headers }: Pick<BusUnderTest, 'url' | 'headers'>,
  options: ClientOptions = {},
): Promise<RawPeer> {
  const ws = new WebSocket(url, { perMessageDeflate: false, ...options, headers: { ...headers } });
  const frames: Frame[] = [];
  const waiting: { readonly members: Frame; readonly take: (frame: Frame) => void }[] = [];
  ws.on('message', (data) => {
    const frame = JSON.parse(String(data));
    const nth = waiting.findIndex(({ members }) => has(frame, members));
    if (nth === -1) frames.push(frame);
    else waiting.splice(nth, 1)[0]!.take(frame);
  });
  ws.on('error', () => {});
  const closed = new Promise<number>((resolve) => ws.on('close', resolve));

  function next(members: Frame): Promise<Frame> {
    const nth = frames.findIndex((frame) => has(frame, members));
    if (nth !== -1) return Promise.resolve(frames.splice(nth, 1)[0]);
    return new Promise((take) => waiting.push({ members, take }));
  }

  const send = (frame: Frame) => ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  const registered = next({ type: 'workerregistered' });
  const refused = new Promise<never>((_, reject) => {
    ws.on('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => reject(new Refused(response.statusCode ?? 0, body)));
    });
  });
  const { worker_id, reattach_token } = await Promise.race([registered, refused]);
  const peer: RawPeer = {
    ws,
    frames,
    workerId: worker_id,
    reattachToken: reattach_token,
    send,
    next,
    closed,
    async call(functionId, data, more = {}) {
      const invocation_id = crypto.randomUUID();
      send({ type: 'invokefunction', invocation_id, function_id: functionId, data, ...more });
      return await next({ type: 'invocationresult', invocation_id });
    },
    async settled() {
      send({ type: 'ping' });
      await next({ type: 'pong' });
    },
  };
  rawPeers.push(peer);
  return peer;
}

/** What a worker hears that may not connect: all frames after it has made a call, and how the connection ends. */
export async function turnedAway({ url, headers }: Pick<BusUnderTest, 'url' | 'headers'>) {
  const ws = new WebSocket(url, { perMessageDeflate: false, headers: { ...headers } });
  const frames: Frame[] = [];
  ws.on('message', (data) => void frames.push(JSON.parse(String(data))));
  const call = { type: 'invokefunction', invocation_id: crypto.randomUUID(), function_id: 'f', data: {} };
  ws.on('open', () => {
    ws.send(JSON.stringify({ type: 'registerfunction', id: 'f' }));
    ws.send(JSON.stringify(call));
  });
  const [code, reason] = await once(ws, 'close');
  return { frames, code: code as number, reason: String(reason), invocation_id: call.invocation_id };
}

/** An upgrade that was answered by something else. */
export class Refused extends Error {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`${status} ${body}`);
    this.status = status;
    this.body = body;
  }
}

export interface WebAnswer {
  readonly status: number;
  /** By name in lower case, as often as it came. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly text: string;
}

/** A request as it is written, header by header. null where the answer breaks off. */
export function askWeb(
  { httpUrl, headers }: Pick<BusUnderTest, 'httpUrl' | 'headers'>,
  path: string,
  options: { readonly method?: string; readonly headers?: Readonly<Record<string, string | string[]>> } = {},
): Promise<WebAnswer | null> {
  const { method = 'GET' } = options;
  return new Promise((resolve) => {
    const asked = httpRequest(`${httpUrl}${path}`, { method, headers: { ...options.headers, ...headers } });
    asked.on('error', () => resolve(null));
    asked.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', () => resolve(null));
      response.on('end', () => {
        const { statusCode = 0, headersDistinct } = response;
        resolve({ status: statusCode, headers: headersDistinct as WebAnswer['headers'], text });
      });
    });
    asked.end();
  });
}

/** Ids and paths that no earlier test has used: an engine elsewhere keeps what those left. */
export function freshName(name: string): string {
  return `contract.${process.pid}.${Date.now()}.${nthName++}.${name}`;
}
let nthName = 0;

/** A function of the official SDK behind a new path. Resolves with the path when it is there. */
export async function webFunction(
  engine: BusUnderTest,
  handle: (request: Frame) => Promise<unknown>,
  config: Frame = {},
): Promise<string> {
  const [id, path] = [freshName('web'), `/${freshName('path')}`];
  const worker = sdkWorker(engine, id);
  worker.registerFunction(id, handle);
  worker.registerTrigger({ type: 'http', function_id: id, config: { api_path: path, ...config } });
  const peer = await rawPeer(engine);
  await until(
    () => `the route ${path}`,
    async () => (await askWeb(engine, path, { method: 'OPTIONS' }))?.headers.allow !== undefined,
  );
  peer.ws.terminate();
  return path;
}

/** The error of a trigger's registration; null where it is taken. */
export async function triggerRefusal(
  peer: RawPeer,
  trigger_type: string,
  config: unknown,
): Promise<Frame | null> {
  const [id, after] = [crypto.randomUUID(), crypto.randomUUID()];
  const trigger = { type: 'registertrigger', trigger_type, function_id: freshName('f') };
  peer.send({ ...trigger, id, config });
  // A refusal that every engine gives shows that the one before was processed.
  peer.send({ ...trigger, id: after, trigger_type: 'http', config: {} });
  await peer.next({ type: 'triggerregistrationresult', id: after });
  return peer.frames.find((frame) => frame.id === id)?.error ?? null;
}

/** Why an upgrade is not let in. */
export async function refusal(engine: Pick<BusUnderTest, 'url' | 'headers'>, options: ClientOptions = {}) {
  try {
    await rawPeer(engine, options);
  } catch (error) {
    if (error instanceof Refused) return { status: error.status, ...JSON.parse(error.body) };
    throw error;
  }
  throw new Error('the upgrade was let in');
}

function has(frame: Frame, members: Frame): boolean {
  return Object.entries(members).every(([name, value]) => frame[name] === value);
}
