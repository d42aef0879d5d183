import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { guarded } from '#kit/callbacks.ts';
import type { EngineFrame } from '#kit/contracts/bus/frames.ts';
import { CoreError, Forbidden, NotFound } from '#kit/errors.ts';
import { STATUS_CODES } from '#kit/http/node-http.ts';
import { problemHeaders, problemOf, problemType } from '#kit/http/problem.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import { joinChannel } from '../channels/channels.ts';
import type { BusConfig } from '../configuration.ts';
import type { Engine } from '../engine.ts';
import { endWhenSilent } from '../wire/connection.ts';
import { stringMembers } from '../wire/json-scan.ts';
import { type BusAccess, checkRoom, checkWorkerRoom, type Presented } from './bus-access.ts';

export interface UpgradeParts {
  readonly engine: Engine;
  readonly access: BusAccess;
  readonly config: BusConfig;
  readonly redactor: Redactor;
  readonly logger: Logger;
}

/** Telemetry needs no token, so few connections may send it. */
const maxTelemetry = 32;
/** Connections without a valid token that are sent the reason at the same time, and the bytes of a frame of theirs. */
const maxTurnedAway = 32;
const turnedAwayBytes = 256 * 1024;
/** The same reason is logged once in so many milliseconds: a worker without its token reconnects every second. */
const sameReasonMs = 60_000;
/** Of one frame of telemetry or of a channel; the official SDK cuts streams into pieces of 64 KiB. */
const sideBytes = 4 * 1024 * 1024;

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Websockets of the engine: workers at `/`, channels, and telemetry, which is taken and thrown away. */
export function createUpgrade(parts: UpgradeParts): { readonly upgrade: Upgrade; close(): void } {
  const { engine, access, config, redactor, logger } = parts;
  const channelSockets = new Set<WebSocket>();
  const telemetrySockets = new Set<WebSocket>();
  const turnedAway = new Set<WebSocket>();
  const lastWarning = { reason: '', at: -sameReasonMs };
  const options = { noServer: true, clientTracking: false, perMessageDeflate: false };
  const server = new WebSocketServer({ ...options, maxPayload: config.limits.frame_bytes });
  const sideServer = new WebSocketServer({ ...options, maxPayload: sideBytes });
  const refusing = new WebSocketServer({ ...options, maxPayload: turnedAwayBytes });

  function route(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    access.checkOrigin(request);
    const { pathname, searchParams } = addressOf(request);
    if (pathname === '/') return void acceptWorker(request, socket, head);
    if (pathname === '/otel') return void acceptTelemetry(request, socket, head);
    const channel = /^\/ws\/channels\/([^/]+)$/.exec(pathname);
    if (channel !== null) return void acceptChannel(request, socket, head, channel[1]!, searchParams);
    throw new NotFound('path_not_found', `there is no websocket at ${pathname}: workers connect to /`);
  }

  function acceptWorker(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    let presented: Presented | null;
    try {
      presented = admitted(request);
    } catch (error) {
      if (!(error instanceof CoreError) || turnedAway.size >= maxTurnedAway) throw error;
      warnOnce(`worker turned away: ${error.code}: ${error.message}`);
      const reason = [error.message, error.hint].filter((words) => words != null).join('. ');
      refusing.handleUpgrade(request, socket, head, (ws) => {
        keep(ws, turnedAway);
        turnAway(ws, reason);
      });
      return;
    }
    checkWorkerRoom(engine.workers, config, presented?.identity.name ?? null);
    const address = (request.socket as Socket).remoteAddress ?? '';
    server.handleUpgrade(request, socket, head, (ws) => {
      engine.accept({ ws, socket, presented, address });
    });
  }

  /** @throws Unauthorized (`token_invalid`, `token_required`), Forbidden (`scope_missing`) */
  function admitted(request: IncomingMessage): Presented | null {
    const presented = access.authenticate(request);
    const { name, scopes } = presented?.identity ?? { name: '', scopes: ['plan'] };
    if (scopes.includes('read') || scopes.includes('plan')) return presented;
    throw new Forbidden(
      'scope_missing',
      `token ${name} has the scopes ${scopes.join(', ')}; the bus needs plan`,
    );
  }

  function warnOnce(reason: string): void {
    const now = performance.now();
    if (lastWarning.reason === reason && now - lastWarning.at < sameReasonMs) return;
    Object.assign(lastWarning, { reason, at: now });
    logger.warn(reason);
  }

  /** The key in the address is what proves that an end may be taken: the official SDK sends no token here. */
  function acceptChannel(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    id: string,
    query: URLSearchParams,
  ): void {
    const direction = query.get('dir') === 'write' ? 'write' : 'read';
    const channel = engine.channels.find(id, query.get('key') ?? '', query.get('dir') ?? '');
    if (channel === null)
      throw new NotFound('channel_not_found', 'there is no such channel, or the key is wrong');
    checkRoom(channelSockets.size, config.limits.connections);
    sideServer.handleUpgrade(request, socket, head, (ws) => {
      keep(ws, channelSockets);
      if (!joinChannel(ws, channel, direction)) ws.close(1008, 'this end of the channel is taken');
    });
  }

  /** The official SDK sends no token here either; what it sends is thrown away. */
  function acceptTelemetry(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    checkRoom(telemetrySockets.size, maxTelemetry);
    sideServer.handleUpgrade(request, socket, head, (ws) => {
      keep(ws, telemetrySockets);
      ws.on('message', () => {});
      ws.on('error', () => {});
    });
  }

  function refuse(request: IncomingMessage, socket: Duplex, error: unknown): void {
    const id = randomUUID();
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    const problem = problemOf(error, { path, id }, redactor);
    if (problem.status === 500) logger.error('upgrade failed', { request_id: id, error });
    else logger.warn(`upgrade refused: ${problem.code}: ${problem.detail}`, { request_id: id });
    const body = JSON.stringify(problem);
    const headers = {
      ...problemHeaders(error),
      Connection: 'close',
      'Content-Type': problemType,
      'Content-Length': Buffer.byteLength(body),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`);
  }

  return {
    upgrade(request, socket, head) {
      socket.on('error', () => {});
      try {
        route(request, socket, head);
      } catch (error) {
        refuse(request, socket, error);
      }
    },
    close() {
      for (const ws of [...channelSockets, ...telemetrySockets, ...turnedAway]) ws.terminate();
    },
  };
}

function addressOf({ url = '/' }: IncomingMessage): URL {
  return new URL(
    url.startsWith('/') && URL.canParse(`ws://engine${url}`) ? `ws://engine${url}` : 'ws://engine/malformed',
  );
}

function keep(ws: WebSocket, sockets: Set<WebSocket>): void {
  sockets.add(ws);
  endWhenSilent(ws);
  ws.on('close', () => sockets.delete(ws));
}

/** Milliseconds for which calls of a worker that was turned away are answered. */
const farewellMs = 1_000;

/**
 * Sends a worker that may not connect the reason, on the websocket itself: the official SDK connects again and again, shows nobody with what
 * an upgrade or a close was refused, and prints the reason of a registration that failed. Its calls fail with the reason too.
 */
function turnAway(ws: WebSocket, reason: string): void {
  const error = { code: 'AUTH_ERROR', message: reason };
  const send = (frame: EngineFrame) => ws.send(JSON.stringify(frame));
  ws.on('error', () => {});
  ws.on(
    'message',
    guarded('the bus engine', (data) => {
      const { type, invocation_id, function_id = '' } = stringMembers(data as Buffer);
      if (type === 'invokefunction' && invocation_id !== undefined)
        send({ type: 'invocationresult', invocation_id, function_id, error });
    }),
  );
  send({ type: 'error', error });
  send({
    type: 'triggerregistrationresult',
    id: 'connection',
    trigger_type: 'AUTH_ERROR',
    function_id: '',
    error,
  });
  const close = setTimeout(
    guarded('the bus engine', () => ws.close(1008, reason.slice(0, 120))),
    farewellMs,
  );
  const end = setTimeout(() => ws.terminate(), 2 * farewellMs);
  ws.on('close', () => {
    clearTimeout(close);
    clearTimeout(end);
  });
}
