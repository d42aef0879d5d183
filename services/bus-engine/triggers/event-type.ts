import { conditionOf, type Trigger, type TriggerType } from './trigger.ts';

/** A type that fires all of its triggers at once, when the engine says so. */
export class EventType implements TriggerType {
  readonly id: string;
  readonly description: string;
  readonly #fire: (trigger: Trigger, data: unknown) => void;
  readonly #triggers = new Map<string, Trigger>();

  constructor(id: string, description: string, fire: (trigger: Trigger, data: unknown) => void) {
    this.id = id;
    this.description = description;
    this.#fire = fire;
  }

  /** Whether anybody wants to know. */
  get wanted(): boolean {
    return this.#triggers.size > 0;
  }

  register(trigger: Trigger): void {
    conditionOf(trigger);
    this.#triggers.set(trigger.id, trigger);
  }

  unregister({ id }: Trigger): void {
    this.#triggers.delete(id);
  }

  emit(data: unknown): void {
    for (const trigger of this.#triggers.values()) this.#fire(trigger, data);
  }
}
