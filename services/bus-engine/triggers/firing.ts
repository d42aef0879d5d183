import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { inForce } from '#kit/tokens/token.ts';
import type { Tokens } from '#kit/tokens.ts';
import type { Calls } from '../calls/calls.ts';
import type { Tick } from '../cron/cron-clock.ts';
import { conditionOf, type Trigger } from './trigger.ts';

type Fired = Pick<Trigger, 'id' | 'type' | 'functionId' | 'config' | 'metadata' | 'token'>;

export interface FiringParts {
  readonly calls: Calls;
  readonly tokens: Pick<Tokens, 'list'>;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Calls the functions of triggers, if their conditions hold. Nobody waits for the result: a failure is logged, and none is thrown. */
export class Firing {
  readonly #parts: FiringParts;

  constructor(parts: FiringParts) {
    this.#parts = parts;
  }

  async tick({ binding, scheduled, actual }: Tick): Promise<void> {
    await this.fire(binding, {
      trigger: 'cron',
      job_id: binding.id,
      scheduled_time: new Date(scheduled).toISOString(),
      actual_time: new Date(actual).toISOString(),
    });
  }

  /** @param timeoutMs for each function that is called */
  async fire(trigger: Fired, data: unknown, timeoutMs = this.#parts.timeoutMs): Promise<void> {
    try {
      await this.#call(trigger, data, timeoutMs);
    } catch (error) {
      this.#failed(trigger, trigger.functionId, messageOf(error));
    }
  }

  async #call(trigger: Fired, data: unknown, timeoutMs: number): Promise<void> {
    const { functionId, metadata, token } = trigger;
    const { calls } = this.#parts;
    if (!this.#isInForce(token))
      return this.#failed(
        trigger,
        functionId,
        `the token ${token} that it was registered with is not in force`,
      );
    const condition = conditionOf(trigger);
    if (condition !== null) {
      const held = await calls.call(condition, data, timeoutMs);
      if (!held.ok) return this.#failed(trigger, condition, held.error.message);
      if (held.result === false) return;
    }
    const outcome = await calls.call(functionId, data, timeoutMs, metadata);
    if (!outcome.ok) this.#failed(trigger, functionId, outcome.error.message);
  }

  /** A trigger can outlive the connection that registered it, but not the right to do so. */
  #isInForce(token: string | null): boolean {
    if (token === null) return true;
    try {
      const record = this.#parts.tokens.list().find(({ name }) => name === token);
      return record !== undefined && inForce(record, Date.now());
    } catch {
      return false;
    }
  }

  #failed({ id }: Fired, functionId: string, message: string): void {
    this.#parts.logger.warn(`a trigger's call of ${functionId} failed: ${message}`, { trigger: id });
  }
}
