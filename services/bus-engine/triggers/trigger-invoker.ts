import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { inForce } from '#kit/tokens/token.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import type { Calls } from '../calls/calls.ts';
import { conditionOf, type Trigger } from './trigger.ts';

type InvokedTrigger = Pick<Trigger, 'id' | 'type' | 'functionId' | 'config' | 'metadata' | 'token'>;

export interface TriggerInvokerParts {
  readonly calls: Calls;
  readonly tokens: Pick<Tokens, 'list' | 'now'>;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Calls the functions of triggers whose conditions hold. Failures are logged, never thrown. */
export class TriggerInvoker {
  readonly #parts: TriggerInvokerParts;

  constructor(parts: TriggerInvokerParts) {
    this.#parts = parts;
  }

  /** @param timeoutMs for each function that is called */
  async invoke(trigger: InvokedTrigger, data: unknown, timeoutMs = this.#parts.timeoutMs): Promise<void> {
    try {
      await this.#call(trigger, data, timeoutMs);
    } catch (error) {
      this.#failed(trigger, trigger.functionId, messageOf(error));
    }
  }

  async #call(trigger: InvokedTrigger, data: unknown, timeoutMs: number): Promise<void> {
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
      const { tokens } = this.#parts;
      return tokens.list().some((record) => record.name === token && inForce(record, tokens.now()));
    } catch {
      return false;
    }
  }

  #failed({ id }: InvokedTrigger, functionId: string, message: string): void {
    this.#parts.logger.warn(`a trigger's call of ${functionId} failed: ${message}`, { trigger: id });
  }
}
