import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { guarded } from '#kit/callbacks.ts';
import {
  type EngineFrame,
  type FrameFault,
  type WorkerFrame,
  workerFrame,
} from '#kit/contracts/bus/frames.ts';
import { twice } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { repeatedMember } from '#kit/repeated-member.ts';
import { shapeOf, stringMembers } from './json-scan.ts';
import { SendBuffer } from './send-buffer.ts';
import { Throttle } from './throttle.ts';

/** What a worker says about itself, unproved. */
export interface Announced {
  readonly name: string | null;
  readonly description: string | null;
  readonly version: string | null;
  readonly runtime: string | null;
  readonly os: string | null;
  readonly isolation: string | null;
}

export interface ConnectionHandlers {
  frame(connection: Connection, frame: WorkerFrame): void;
  fault(connection: Connection, fault: FrameFault): void;
  /** Called once. */
  closed(connection: Connection): void;
}

export interface ConnectionParts {
  readonly ws: WebSocket;
  readonly socket: Duplex;
  /** Name and text of the token; null where it came without one. */
  readonly token: { readonly name: string; readonly text: string } | null;
  readonly mayCall: boolean;
  readonly address: string;
  readonly framesPerSecond: number;
  /** Monotonic, in milliseconds; default: the machine's clock. */
  readonly now?: () => number;
  /** A connection that has more unread bytes than this and sends a frame is ended. */
  readonly maxUnread: number;
  readonly handlers: ConnectionHandlers;
  readonly logger: Logger;
}

/** A frame that breaks a rule counts as so many. */
const faultCost = 20;

/** Milliseconds for the other side to answer a close frame. */
const closeTimeoutMs = 500;
/** Deeper values exhaust the stack of JSON.stringify; more values take too long to build. */
const limits = { depth: 1_000, values: 1_000_000 };
/** Parsing so many bytes, or making so many values, costs about as much as passing on a small frame. */
const bytesPerFrame = 16_384;
const valuesPerFrame = 64;

/** One worker on the bus, from its upgrade to its end. */
export class Connection {
  readonly id = randomUUID();
  readonly reattachToken = randomUUID();
  readonly connectedAt = Date.now();
  readonly address: string;
  readonly mayCall: boolean;
  readonly tokenText: string | null;
  readonly token: string | null;
  readonly sendBuffer: SendBuffer;
  /** Calls that it made and that have no result yet. */
  waitingCalls = 0;
  /** Calls that it has not answered yet. */
  runningCalls = 0;
  announced: Announced | null = null;
  readonly #ws: WebSocket;
  readonly #handlers: ConnectionHandlers;
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #maxUnread: number;
  #faults = 0;
  #refusals = 0;
  #gone = false;

  constructor(parts: ConnectionParts) {
    const { ws, socket, token, handlers } = parts;
    this.address = parts.address;
    this.mayCall = parts.mayCall;
    this.token = token?.name ?? null;
    this.tokenText = token?.text ?? null;
    this.sendBuffer = new SendBuffer(ws, socket);
    this.#maxUnread = parts.maxUnread;
    this.#ws = ws;
    this.#handlers = handlers;
    this.#logger = parts.logger.child({ worker: this.id });
    const reader = { pause: () => ws.pause(), resume: () => ws.resume() };
    this.#throttle = new Throttle(parts.framesPerSecond, reader, parts.now);
    ws.on(
      'message',
      guarded('the bus engine', (data) => this.#read(data)),
    );
    endWhenSilent(ws);
    ws.on(
      'error',
      guarded('the bus engine', (error) => this.#logger.warn(`connection broke: ${error.message}`)),
    );
    ws.on(
      'close',
      guarded('the bus engine', () => this.#end()),
    );
  }

  get name(): string | null {
    return this.announced?.name ?? null;
  }

  send(frame: EngineFrame): void {
    this.sendBuffer.push(JSON.stringify(frame));
  }

  /** Closes with a reason; frames that still arrive are ignored. @param code of RFC 6455 */
  close(code: number, reason: string): void {
    this.#ws.close(code, reason.slice(0, 120));
    const late = setTimeout(() => this.#ws.terminate(), closeTimeoutMs);
    this.#ws.once('close', () => clearTimeout(late));
    this.#end();
  }

  /** Ends it at once, without a close frame. */
  terminate(): void {
    this.#ws.terminate();
    this.#end();
  }

  overflow(): void {
    this.#logger.warn('connection ended: it does not read what is sent to it', {
      waiting: this.sendBuffer.waiting,
    });
    this.terminate();
  }

  #read(data: RawData): void {
    if (this.#gone) return;
    this.#throttle.spend(1);
    if (this.sendBuffer.waiting > this.#maxUnread) return void this.overflow();
    const bytes = data as Buffer;
    // A smaller frame cannot break either limit.
    if (bytes.length > limits.depth && !this.#isUsable(bytes)) return;
    if (bytes.length > 0) this.#parse(bytes);
  }

  /** Charges for large frames, and refuses too deep or too many values before they are parsed. */
  #isUsable(bytes: Buffer): boolean {
    const { depth, values } = shapeOf(bytes, limits);
    this.#throttle.spend(Math.floor(bytes.length / bytesPerFrame + values / valuesPerFrame));
    const reason =
      depth > limits.depth
        ? `a frame must be nested at most ${limits.depth} levels deep`
        : values > limits.values
          ? `a frame must have at most ${limits.values} values`
          : null;
    if (reason !== null) this.#fault({ type: 'fault', reason, frame: stringMembers(bytes) });
    return reason === null;
  }

  #parse(bytes: Buffer): void {
    const frame = frameIn(bytes);
    try {
      if (frame.type === 'fault') this.#fault(frame);
      else this.#handlers.frame(this, frame);
    } catch (error) {
      // A RangeError is a value nested so deeply that it cannot be written again.
      if (error instanceof RangeError && frame.type !== 'fault')
        this.#fault({ type: 'fault', reason: 'its value is nested too deeply', frame: { ...frame } });
      else this.#logger.error(`a frame could not be handled: ${messageOf(error)}`, { error });
    }
  }

  #fault(fault: FrameFault): void {
    this.#throttle.spend(faultCost);
    this.#faults++;
    if (isLogged(this.#faults))
      this.#logger.warn(`frame not understood: ${fault.reason}`, { faults: this.#faults });
    this.#handlers.fault(this, fault);
  }

  /** Counts expensive work against its share. @param frames as many as that costs */
  charge(frames: number): void {
    this.#throttle.spend(frames);
  }

  /** A registration was refused. */
  refused(why: string, facts: Readonly<Record<string, unknown>> = {}): void {
    this.#throttle.spend(faultCost);
    this.#refusals++;
    if (isLogged(this.#refusals)) this.#logger.warn(why, { ...facts, refusals: this.#refusals });
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#throttle.stop();
    this.#handlers.closed(this);
  }
}

/**
 * Pings the other end each time that nothing came for so long, and ends the connection after three times: a machine that vanished
 * closes nothing. A paused one is not asked.
 */
export function endWhenSilent(ws: WebSocket, silentMs = 30_000): void {
  let silences = 0;
  const timer = setTimeout(
    guarded('the bus engine', () => {
      if (!ws.isPaused && ++silences === 3) return ws.terminate();
      if (!ws.isPaused) ws.ping();
      timer.refresh();
    }),
    silentMs,
  ).unref();
  const hear = guarded('the bus engine', () => {
    silences = 0;
    timer.refresh();
  });
  ws.on('message', hear).on('ping', hear).on('pong', hear);
  ws.on('close', () => clearTimeout(timer));
}

/** Only the first, the tenth, the hundredth… is logged. */
function isLogged(nth: number): boolean {
  return Number.isInteger(Math.log10(nth));
}

function frameIn(bytes: Buffer): WorkerFrame | FrameFault {
  const { stackTraceLimit } = Error;
  // Half the cost of broken JSON is the stack of an error that nobody sees.
  Error.stackTraceLimit = 0;
  try {
    const text = bytes.toString();
    const value = JSON.parse(text);
    const repeated = repeatedMember(text);
    if (repeated === null) return workerFrame(value);
    return { type: 'fault', reason: `a frame: ${twice(repeated)}`, frame: stringMembers(bytes) };
  } catch {
    return { type: 'fault', reason: 'a frame must be JSON', frame: null };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
