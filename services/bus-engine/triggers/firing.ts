import type { Logger } from '#kit/log.ts';
import type { Calls } from '../calls/calls.ts';
import type { Tick } from '../cron/cron-clock.ts';
import { conditionOf, type Trigger } from './trigger.ts';

type Fired = Pick<Trigger, 'id' | 'type' | 'functionId' | 'config' | 'metadata'>;

/** Calls the functions of triggers, if their conditions hold. Nobody waits for the result: a failure is logged. */
export class Firing {
  readonly #calls: Calls;
  readonly #timeoutMs: number;
  readonly #logger: Logger;

  constructor(calls: Calls, timeoutMs: number, logger: Logger) {
    this.#calls = calls;
    this.#timeoutMs = timeoutMs;
    this.#logger = logger;
  }

  async tick({ binding, scheduled, actual }: Tick): Promise<void> {
    await this.fire(binding, {
      trigger: 'cron',
      job_id: binding.id,
      scheduled_time: new Date(scheduled).toISOString(),
      actual_time: new Date(actual).toISOString(),
    });
  }

  async fire(trigger: Fired, data: unknown): Promise<void> {
    const { functionId, metadata } = trigger;
    const condition = conditionOf(trigger);
    if (condition !== null) {
      const held = await this.#calls.call(condition, data, this.#timeoutMs);
      if (!held.ok) return this.#failed(trigger, condition, held.error.message);
      if (held.result === false) return;
    }
    const outcome = await this.#calls.call(functionId, data, this.#timeoutMs, metadata);
    if (!outcome.ok) this.#failed(trigger, functionId, outcome.error.message);
  }

  #failed({ id }: Fired, functionId: string, message: string): void {
    this.#logger.warn(`a trigger's call of ${functionId} failed: ${message}`, { trigger: id });
  }
}
