import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Tokens } from '#kit/tokens.ts';
import type { Calls } from './calls/calls.ts';
import type { Channels } from './channels/channels.ts';
import type { Workers } from './registry/workers.ts';
import type { Connection } from './wire/connection.ts';

export interface ReaperParts {
  readonly calls: Pick<Calls, 'sweep'>;
  readonly channels: Pick<Channels, 'sweep'>;
  readonly workers: Pick<Workers, 'all'>;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  /** What may wait for one connection. */
  readonly bufferedBytes: number;
  readonly logger: Logger;
}

/** Milliseconds from one look at everything to the next. */
const everyMs = 1_000;
/** Silent for so many looks, a connection is asked whether it is there; for twice as many more, it is not. */
const silentLooks = 30;

/** Who takes none of what waits for it for so many looks is ended… */
const stuckLooks = 30;
/** … and has one more for each so many bytes that are on their way. */
const bytesPerLook = 65_536;
/** What may wait for all connections of a token, and for all there are, in times of what may wait for one. */
const share = { ofToken: 4, ofAll: 16 };

/** Ends what has become too old, connections whose token is not good any more, and those that are only apparently there. */
export class Reaper {
  readonly #parts: ReaperParts;
  readonly #silent = new Map<Connection, number>();
  readonly #stuck = new Map<Connection, { readonly taken: number; readonly looks: number }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ReaperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), everyMs);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  forget(connection: Connection): void {
    this.#silent.delete(connection);
    this.#stuck.delete(connection);
  }

  /** Once at everything. */
  look(): void {
    const { calls, channels, workers } = this.#parts;
    calls.sweep();
    channels.sweep();
    const valid = new Map<string, boolean>();
    for (const connection of [...workers.all()]) {
      if (!this.#isValid(connection, valid)) connection.close(1008, 'the token is revoked or expired');
      else {
        this.#listen(connection);
        this.#watchReading(connection);
      }
    }
    this.#keepWithinMemory();
  }

  /** What is taken is noted only when all of a write is: large ones have longer. */
  #watchReading(connection: Connection): void {
    const { taken, waiting, leaving } = connection.outbox;
    const before = this.#stuck.get(connection);
    const looks = waiting > 0 && before?.taken === taken ? before.looks + 1 : 0;
    this.#stuck.set(connection, { taken, looks });
    if (looks >= stuckLooks + leaving / bytesPerLook) connection.overflow();
  }

  /** Who has left most unread goes first. */
  #keepWithinMemory(): void {
    const { workers, bufferedBytes } = this.#parts;
    const waiting = [...workers.all()].filter(({ outbox }) => outbox.waiting > 0);
    const ofToken = new Map<string | null, number>();
    let all = 0;
    for (const { token, outbox } of waiting) {
      ofToken.set(token, (ofToken.get(token) ?? 0) + outbox.waiting);
      all += outbox.waiting;
    }
    for (const connection of waiting.toSorted((a, b) => b.outbox.waiting - a.outbox.waiting)) {
      const { token } = connection;
      const bytes = connection.outbox.waiting;
      if (all <= share.ofAll * bufferedBytes && ofToken.get(token)! <= share.ofToken * bufferedBytes)
        continue;
      connection.overflow();
      all -= bytes;
      ofToken.set(token, ofToken.get(token)! - bytes);
    }
  }

  #isValid({ tokenText }: Connection, valid: Map<string, boolean>): boolean {
    if (tokenText === null) return true;
    let is = valid.get(tokenText);
    if (is === undefined) {
      is = this.#authenticates(tokenText);
      valid.set(tokenText, is);
    }
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

  /** A machine that vanished says nothing, not even goodbye. */
  #listen(connection: Connection): void {
    const looks = connection.heard ? 0 : (this.#silent.get(connection) ?? 0) + 1;
    connection.heard = false;
    this.#silent.set(connection, looks);
    if (looks === silentLooks || looks === 2 * silentLooks) connection.ping();
    if (looks >= 3 * silentLooks) connection.terminate();
  }
}
