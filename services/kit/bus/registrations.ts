import { randomUUID } from 'node:crypto';
import type {
  RegisterFunction,
  RegisterTrigger,
  RegistrationRejected,
  TriggerRegistrationResult,
} from '../contracts/bus/frames.ts';
import type { Logger } from '../log.ts';
import type { BusFunction, BusTrigger } from './bus.ts';

type Registration = RegisterFunction | RegisterTrigger;

/** What this process offers; told to the bus after each connecting. */
export class Registrations {
  readonly #functions = new Map<string, BusFunction>();
  readonly #triggers = new Map<string, BusTrigger>();
  /** Ids that the bus refused. */
  readonly #refused = new Set<string>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(functions: readonly BusFunction[], triggers: readonly BusTrigger[]): readonly Registration[] {
    for (const { id } of functions) {
      if (id.trim() === '' || this.#functions.has(id))
        throw new TypeError(`function ${JSON.stringify(id)} is empty or registered already`);
      if (functions.filter((other) => other.id === id).length > 1)
        throw new TypeError(`function ${JSON.stringify(id)} is given twice`);
    }
    for (const offered of functions) this.#functions.set(offered.id, offered);
    const named = triggers.map((trigger) => [randomUUID(), trigger] as const);
    for (const [id, trigger] of named) this.#triggers.set(id, trigger);
    return [...functions.map(functionFrame), ...named.map(([id, trigger]) => triggerFrame(id, trigger))];
  }

  find(id: string): BusFunction | undefined {
    return this.#functions.get(id);
  }

  all(): readonly Registration[] {
    this.#refused.clear();
    return [
      ...[...this.#functions.values()].map(functionFrame),
      ...[...this.#triggers].map(([id, trigger]) => triggerFrame(id, trigger)),
    ];
  }

  /** Notes a refusal; false where the frame tells of none that matters here. */
  refused(frame: RegistrationRejected | TriggerRegistrationResult): boolean {
    if (frame.type === 'registrationrejected') {
      const { code, message, function_id: id } = frame;
      this.#logger.error(`the bus refuses ${id ?? 'a registration'}`, { code, reason: message });
      if (id === undefined) return false;
      this.#refused.add(id);
      return true;
    }
    if (frame.error == null || !this.#triggers.has(frame.id)) return false;
    this.#logger.error(`the bus refuses a trigger of ${frame.function_id}`, { reason: frame.error });
    this.#refused.add(frame.id);
    return true;
  }

  takeRefused(): readonly Registration[] {
    const ids = [...this.#refused];
    this.#refused.clear();
    return ids.flatMap((id): Registration[] => {
      const offered = this.#functions.get(id);
      const trigger = this.#triggers.get(id);
      if (offered !== undefined) return [functionFrame(offered)];
      return trigger === undefined ? [] : [triggerFrame(id, trigger)];
    });
  }
}

function functionFrame({ id, description, request, response }: BusFunction): RegisterFunction {
  return { type: 'registerfunction', id, description, request_format: request, response_format: response };
}

function triggerFrame(id: string, { type, function_id, config }: BusTrigger): RegisterTrigger {
  return { type: 'registertrigger', id, trigger_type: type, function_id, config };
}
