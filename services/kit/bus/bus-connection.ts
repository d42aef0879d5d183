import { WebSocket } from 'ws';
import { guarded } from '../callbacks.ts';
import { type EngineFrame, engineFrame, type WorkerRegistered } from '../contracts/bus/frames.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';

/** Milliseconds and bounds of a client of the bus. */
export interface BusTiming {
  /** For a connection to open and to be greeted. */
  readonly openingMs: number;
  /** Between two pings; a peer from which nothing comes for three of them is dead. */
  readonly pingMs: number;
  /** Before the second attempt to connect; doubles with each, up to `maxWaitMs`. */
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** After a connection that lasted so long, waits start from `firstWaitMs` again. */
  readonly steadyMs: number;
  /** Between two checks whether the bus still lists what was registered. */
  readonly recheckMs: number;
}

export const defaultTiming: BusTiming = {
  openingMs: 10_000,
  pingMs: 20_000,
  firstWaitMs: 50,
  maxWaitMs: 1_400,
  steadyMs: 5_000,
  recheckMs: 2_000,
};

/** Calls that wait for a connection or an answer, results that wait for a connection, handlers at work. */
export const busLimits = {
  calls: 10_000,
  waitingCalls: 1_000,
  waitingResults: 1_000,
  handlers: 1_000,
  /** Bytes of one frame. */
  frameBytes: 16 * 1024 * 1024,
  /** Bytes that the socket has not taken yet. */
  unsentBytes: 64 * 1024 * 1024,
} as const;

/** Doubles with each failure, up to its limit, with a third of jitter either way. */
export function waitBefore(failures: number, { firstWaitMs, maxWaitMs }: BusTiming): number {
  const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(failures, 30));
  return wait * (2 / 3 + (Math.random() * 2) / 3);
}

interface ConnectionOptions {
  /** Asked before each attempt: the bus may have moved, and the token been replaced. */
  readonly url: () => string;
  readonly token: () => string | null;
  /** PEM of a certificate to trust beside the system's. */
  readonly ca: string | null;
  readonly timing: BusTiming;
  readonly logger: Logger;
  /** The bus greeted: frames can be sent. */
  readonly opened: () => void;
  readonly received: (frame: EngineFrame) => void;
  readonly lost: (reason: string) => void;
  /** A connection was not opened, or is gone; another attempt follows. */
  readonly failed: (reason: string) => void;
}

/** Three seconds of waits: where everything starts at once, the bus may be the last. */
const quietFailures = 6;

/** One connection to the bus after the other, for as long as it is not closed. */
export class BusConnection {
  readonly #options: ConnectionOptions;
  #socket: WebSocket | null = null;
  #greeted = false;
  #identity: WorkerRegistered | null = null;
  #failures = 0;
  #lastReason: string | null = null;
  #loggedReason: string | null = null;
  #waiting: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#connect();
  }

  get open(): boolean {
    return this.#greeted;
  }

  /** Why there is no connection. */
  get problem(): string {
    return this.#lastReason ?? 'no connection was opened yet';
  }

  /** Whether the socket takes more. */
  get hasRoom(): boolean {
    return (this.#socket?.bufferedAmount ?? 0) < busLimits.unsentBytes;
  }

  /** false where there is no connection. */
  send(text: string): boolean {
    if (this.#greeted) this.#socket?.send(text);
    return this.#greeted;
  }

  async close(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#waiting);
    const socket = this.#socket;
    if (socket === null || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    if (socket.readyState === WebSocket.OPEN) socket.close(1000);
    else socket.terminate();
    const late = setTimeout(() => socket.terminate(), 1_000);
    await closed;
    clearTimeout(late);
  }

  #connect(): void {
    let socket: WebSocket;
    let url = 'the bus';
    try {
      url = this.#options.url();
      socket = this.#openSocket(url);
    } catch (error) {
      this.#again(`${url}: ${messageOf(error)}`);
      return;
    }
    this.#socket = socket;
    let reason: string | null = null;
    let since = 0;
    const alive = this.#keepAlive(socket, (why) => {
      reason ??= why;
      socket.terminate();
    });
    socket.on(
      'unexpected-response',
      guarded('the connection to the bus', (request, response) => {
        reason ??= `${url} refused the connection with status ${response.statusCode}`;
        request.destroy();
        response.resume();
        socket.terminate();
      }),
    );
    socket.on(
      'error',
      guarded('the connection to the bus', (error) => {
        reason ??= `${url}: ${error.message || String(error)}`;
      }),
    );
    socket.on(
      'message',
      guarded('the connection to the bus', (data, isBinary) => {
        alive.heard();
        const frame = isBinary ? null : this.#frameIn(String(data));
        if (frame === null) return;
        if (frame.type === 'error') reason ??= `${url}: ${frame.error.code}: ${frame.error.message}`;
        if (frame.type === 'workerregistered') {
          since = performance.now();
          this.#greet(frame);
        } else if (this.#greeted) this.#options.received(frame);
      }),
    );
    socket.on(
      'close',
      guarded('the connection to the bus', (code, words) => {
        alive.end();
        const said = words.length > 0 ? `: ${words.toString('utf8')}` : '';
        const why = reason ?? `${url} closed the connection (${code}${said})`;
        if (since > 0 && performance.now() - since >= this.#options.timing.steadyMs) this.#failures = 0;
        const wasGreeted = this.#greeted;
        this.#greeted = false;
        this.#socket = null;
        if (wasGreeted) {
          if (!this.#ended) this.#options.logger.warn('the connection to the bus was lost', { reason: why });
          this.#options.lost(why);
        }
        this.#again(why);
      }),
    );
  }

  #openSocket(url: string): WebSocket {
    const token = this.#options.token();
    const { ca, timing } = this.#options;
    return new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: timing.openingMs,
      maxPayload: 2 * busLimits.frameBytes,
      ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
      ...(ca === null ? {} : { ca }),
    });
  }

  /** Says who this was before, so that the bus forgets that connection first, then lets the owner speak. */
  #greet(frame: WorkerRegistered): void {
    if (this.#greeted) return;
    const before = this.#identity;
    this.#identity = frame;
    this.#greeted = true;
    this.#lastReason = null;
    this.#loggedReason = null;
    if (before !== null) {
      const { worker_id: previous_worker_id, reattach_token } = before;
      this.send(JSON.stringify({ type: 'reattach', previous_worker_id, reattach_token }));
    }
    this.#options.opened();
  }

  #keepAlive(
    socket: WebSocket,
    dead: (why: string) => void,
  ): { readonly heard: () => void; readonly end: () => void } {
    const { pingMs, openingMs } = this.#options.timing;
    let silent = 0;
    const heard = guarded('the connection to the bus', () => {
      silent = 0;
    });
    socket.on('pong', heard);
    socket.on('ping', heard);
    const opening = setTimeout(
      guarded('the connection to the bus', () => {
        if (!this.#greeted) dead(`the bus did not greet within ${openingMs} ms`);
      }),
      openingMs,
    );
    const pinging = setInterval(
      guarded('the connection to the bus', () => {
        silent++;
        if (silent > 3) return dead(`nothing came from the bus for ${3 * pingMs} ms`);
        if (socket.readyState === WebSocket.OPEN) socket.ping();
      }),
      pingMs,
    );
    return {
      heard,
      end() {
        clearTimeout(opening);
        clearInterval(pinging);
      },
    };
  }

  /** null for what is no frame; newer buses say more than this client knows. */
  #frameIn(text: string): EngineFrame | null {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = text;
    }
    const frame = engineFrame(value);
    if (frame.type !== 'fault') return frame;
    this.#options.logger.debug('a frame of the bus is ignored', { reason: frame.reason });
    return null;
  }

  #again(reason: string): void {
    const { logger, timing } = this.#options;
    if (this.#ended) return;
    this.#lastReason = reason;
    this.#options.failed(reason);
    if (this.#failures >= quietFailures && reason !== this.#loggedReason) {
      logger.warn('the bus is not connected; trying again', { reason });
      this.#loggedReason = reason;
    }
    this.#waiting = setTimeout(
      guarded(
        'the connection to the bus',
        () => this.#connect(),
        (error) => this.#again(messageOf(error)),
      ),
      waitBefore(this.#failures, timing),
    );
    this.#failures++;
  }
}
