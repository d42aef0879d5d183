import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
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
import { Outbox } from './outbox.ts';
import { Throttle } from './throttle.ts';

/** What a worker says of itself; none of it is proved. */
export interface Announced {
  readonly name: string | null;
  readonly description: string | null;
  readonly version: string | null;
  readonly runtime: string | null;
  readonly os: string | null;
  readonly pid: number | null;
  readonly isolation: unknown;
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
  /** Who has left more unread than this and still asks is disconnected. */
  readonly mostUnread: number;
  readonly handlers: ConnectionHandlers;
  readonly logger: Logger;
}

/** What a frame that breaks a rule costs of a connection's share, in frames. */
const faultCost = 20;

/** So long, in milliseconds, the other side has to answer a goodbye. */
const goodbyeMs = 500;
/** What is nested deeper exhausts the stack of those that write it again; more values take too long to build. */
const most = { depth: 1_000, values: 1_000_000 };
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
  readonly outbox: Outbox;
  /** Calls that it made and that have no result yet. */
  waitingCalls = 0;
  /** Calls that it has not answered yet. */
  runningCalls = 0;
  announced: Announced | null = null;
  /** Whether anything came since it was last set to false. */
  heard = true;
  readonly #ws: WebSocket;
  readonly #handlers: ConnectionHandlers;
  readonly #logger: Logger;
  readonly #throttle: Throttle;
  readonly #mostUnread: number;
  #faults = 0;
  #refusals = 0;
  #gone = false;

  constructor(parts: ConnectionParts) {
    const { ws, socket, token, handlers } = parts;
    this.address = parts.address;
    this.mayCall = parts.mayCall;
    this.token = token?.name ?? null;
    this.tokenText = token?.text ?? null;
    this.outbox = new Outbox(ws, socket);
    this.#mostUnread = parts.mostUnread;
    this.#ws = ws;
    this.#handlers = handlers;
    this.#logger = parts.logger.child({ worker: this.id });
    this.#throttle = new Throttle(parts.framesPerSecond, {
      pause: () => ws.pause(),
      resume: () => ws.resume(),
    });
    ws.on('message', (data) => this.#read(data));
    ws.on('pong', () => {
      this.heard = true;
    });
    ws.on('ping', () => {
      this.heard = true;
    });
    ws.on('error', (error) => this.#logger.warn(`connection broke: ${error.message}`));
    ws.on('close', () => this.#end());
  }

  get name(): string | null {
    return this.announced?.name ?? null;
  }

  send(frame: EngineFrame): void {
    this.outbox.push(JSON.stringify(frame));
  }

  ping(): void {
    this.#ws.ping();
  }

  /** Says why, and ends after what was sent before: nothing that comes from now on counts. @param code of RFC 6455 */
  close(code: number, reason: string): void {
    this.#ws.close(code, reason.slice(0, 120));
    const late = setTimeout(() => this.#ws.terminate(), goodbyeMs);
    this.#ws.once('close', () => clearTimeout(late));
    this.#end();
  }

  /** At once, without a word. */
  terminate(): void {
    this.#ws.terminate();
    this.#end();
  }

  overflow(): void {
    this.#logger.warn('connection ended: it does not read what is sent to it', {
      waiting: this.outbox.waiting,
    });
    this.terminate();
  }

  #read(data: RawData): void {
    if (this.#gone) return;
    this.heard = true;
    this.#throttle.spend(1);
    if (this.outbox.waiting > this.#mostUnread) return void this.overflow();
    const bytes = data as Buffer;
    // Smaller ones have room neither for that many levels nor for much work.
    if (bytes.length > most.depth && !this.#isUsable(bytes)) return;
    if (bytes.length > 0) this.#parse(bytes);
  }

  /** Charges for what is large, and refuses what is misshapen before anybody builds it. */
  #isUsable(bytes: Buffer): boolean {
    const { depth, values } = shapeOf(bytes, most);
    this.#throttle.spend(Math.floor(bytes.length / bytesPerFrame + values / valuesPerFrame));
    const reason =
      depth > most.depth
        ? `a frame must be nested at most ${most.depth} levels deep`
        : values > most.values
          ? `a frame must have at most ${most.values} values`
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
    if (isTold(this.#faults))
      this.#logger.warn(`frame not understood: ${fault.reason}`, { faults: this.#faults });
    this.#handlers.fault(this, fault);
  }

  /** Something that it asked for was more work than passing on a frame. @param frames that it costs of its share */
  charge(frames: number): void {
    this.#throttle.spend(frames);
  }

  /** What it wanted to register is not taken. */
  refused(why: string, facts: Readonly<Record<string, unknown>> = {}): void {
    this.#throttle.spend(faultCost);
    this.#refusals++;
    if (isTold(this.#refusals)) this.#logger.warn(why, { ...facts, refusals: this.#refusals });
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#throttle.stop();
    this.#handlers.closed(this);
  }
}

/** A flood of them must not become a flood of lines: the first, the tenth, the hundredth… */
function isTold(nth: number): boolean {
  return Number.isInteger(Math.log10(nth));
}

function frameIn(bytes: Buffer): WorkerFrame | FrameFault {
  const { stackTraceLimit } = Error;
  // Half of what broken JSON costs is the stack of an error that nobody sees.
  Error.stackTraceLimit = 0;
  try {
    const text = bytes.toString();
    const value = JSON.parse(text);
    const repeated = repeatedMember(text, value);
    if (repeated === null) return workerFrame(value);
    return { type: 'fault', reason: `a frame: ${twice(repeated)}`, frame: stringMembers(bytes) };
  } catch {
    return { type: 'fault', reason: 'a frame must be JSON', frame: null };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
