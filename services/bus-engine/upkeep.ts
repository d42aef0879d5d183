import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Tokens } from '#kit/tokens.ts';
import type { Calls } from './calls/calls.ts';
import type { Channels } from './channels/channels.ts';
import type { Workers } from './registry/workers.ts';
import type { Connection } from './wire/connection.ts';

export interface UpkeepParts {
  readonly calls: Calls;
  readonly channels: Channels;
  readonly workers: Workers;
  readonly tokens: Tokens;
  readonly logger: Logger;
}

/** Milliseconds from one look at everything to the next. */
const everyMs = 1_000;
/** Silent for so many looks, a connection is asked whether it is there; for twice as many more, it is not. */
const silentLooks = 30;

/** Ends what has become too old, connections whose token is not good any more, and those that are only apparently there. */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #silent = new Map<Connection, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), everyMs);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  forget(connection: Connection): void {
    this.#silent.delete(connection);
  }

  #look(): void {
    const { calls, channels, workers } = this.#parts;
    calls.sweep();
    channels.sweep();
    const valid = new Map<string, boolean>();
    for (const connection of [...workers.all()]) {
      if (!this.#isValid(connection, valid)) connection.close(1008, 'the token is revoked or expired');
      else this.#listen(connection);
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
