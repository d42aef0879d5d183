import { guarded } from '#kit/callbacks.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import type { Calls } from './calls/calls.ts';
import type { Channels } from './channels/channels.ts';
import type { Workers } from './registry/workers.ts';
import type { Connection } from './wire/connection.ts';

export interface ReaperParts {
  readonly calls: Pick<Calls, 'sweep'>;
  readonly channels: Pick<Channels, 'sweep'>;
  readonly workers: Pick<Workers, 'all'>;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  /** That may wait for one connection. */
  readonly bufferedBytes: number;
  readonly logger: Logger;
}

/** Milliseconds between two checks. */
const everyMs = 1_000;

/** A connection that reads nothing of what waits for it for so many checks is ended… */
const stuckChecks = 30;
/** … with one check more for each so many bytes under way. */
const bytesPerCheck = 65_536;
/** Bytes that may wait for all connections of a token, and for all connections, as multiples of one connection's limit. */
const share = { ofToken: 4, ofAll: 16 };

/** Ends calls and channels that are too old, and connections that do not read, or whose token was revoked. */
export class Reaper {
  readonly #parts: ReaperParts;
  readonly #stuck = new WeakMap<Connection, { readonly taken: number; readonly checks: number }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ReaperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(
      guarded('the bus engine', () => this.check()),
      everyMs,
    );
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  check(): void {
    const { calls, channels, workers } = this.#parts;
    calls.sweep();
    channels.sweep();
    const valid = new Map<string, boolean>();
    for (const connection of [...workers.all()]) {
      if (!this.#isValid(connection, valid)) connection.close(1008, 'the token is revoked or expired');
      else this.#watchReading(connection);
    }
    this.#keepWithinMemory();
  }

  /** Progress shows only when a whole write was taken: large ones get more time. */
  #watchReading(connection: Connection): void {
    const { taken, waiting, leaving } = connection.sendBuffer;
    const before = this.#stuck.get(connection);
    const checks = waiting > 0 && before?.taken === taken ? before.checks + 1 : 0;
    this.#stuck.set(connection, { taken, checks });
    if (checks >= stuckChecks + leaving / bytesPerCheck) connection.overflow();
  }

  /** Ends the connections with the most unread bytes first. */
  #keepWithinMemory(): void {
    const { workers, bufferedBytes } = this.#parts;
    const waiting = [...workers.all()].filter(({ sendBuffer }) => sendBuffer.waiting > 0);
    const ofToken = new Map<string | null, number>();
    let all = 0;
    for (const { token, sendBuffer } of waiting) {
      ofToken.set(token, (ofToken.get(token) ?? 0) + sendBuffer.waiting);
      all += sendBuffer.waiting;
    }
    for (const connection of waiting.toSorted((a, b) => b.sendBuffer.waiting - a.sendBuffer.waiting)) {
      const { token } = connection;
      const bytes = connection.sendBuffer.waiting;
      if (all <= share.ofAll * bufferedBytes && ofToken.get(token)! <= share.ofToken * bufferedBytes)
        continue;
      connection.overflow();
      all -= bytes;
      ofToken.set(token, ofToken.get(token)! - bytes);
    }
  }

  #isValid({ tokenText }: Connection, valid: Map<string, boolean>): boolean {
    if (tokenText === null) return true;
    const is = valid.get(tokenText) ?? this.#authenticates(tokenText);
    valid.set(tokenText, is);
    return is;
  }

  /** Tokens that cannot be read are no proof of anything. */
  #authenticates(text: string): boolean {
    try {
      return this.#parts.tokens.authenticate(text) !== null;
    } catch (error) {
      this.#parts.logger.error(`tokens cannot be read: ${messageOf(error)}`);
      return false;
    }
  }
}
