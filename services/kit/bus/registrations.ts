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

/** The functions and triggers of this process; sent to the bus after each connecting. */
export class Registrations {
  readonly #functions = new Map<string, BusFunction>();
  readonly #triggers = new Map<string, BusTrigger>();
  /** Why the bus refused what it refused last, by id. */
  readonly #refused = new Map<string, string>();
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
    return [
      ...[...this.#functions.values()].map(functionFrame),
      ...[...this.#triggers].map(([id, trigger]) => triggerFrame(id, trigger)),
    ];
  }

  /** Logs a refusal once for each reason: what the bus does not list is registered again and again. */
  refused(frame: RegistrationRejected | TriggerRegistrationResult): void {
    const [id, what, reason] =
      frame.type === 'registrationrejected'
        ? [frame.function_id ?? '', frame.function_id ?? 'a registration', `${frame.code}: ${frame.message}`]
        : [frame.id, `a trigger of ${frame.function_id}`, `${frame.error?.code}: ${frame.error?.message}`];
    if (frame.type === 'triggerregistrationresult' && (frame.error == null || !this.#triggers.has(frame.id)))
      return;
    if (this.#refused.get(id) === reason) return;
    this.#refused.set(id, reason);
    this.#logger.error(`the bus refuses ${what}`, { reason });
  }

  /**
   * What is registered here and the bus does not list: an iii drops a function when any worker that registered it stops.
   * @param ask calls a function of the bus
   */
  async missing(
    ask: (functionId: string, data: unknown) => Promise<unknown>,
  ): Promise<readonly Registration[]> {
    const [functions, triggers] = [[...this.#functions.values()], [...this.#triggers]];
    const listed = await (functions.length === 0
      ? null
      : ask('engine::functions::list', { prefix: commonPrefix(functions.map(({ id }) => id)) }));
    const bound = await (triggers.length === 0 ? null : ask('engine::registered-triggers::list', {}));
    const functionIds = idsIn(listed, 'functions', 'function_id');
    const triggerIds = idsIn(bound, 'registered_triggers', 'id');
    for (const id of [...functionIds, ...triggerIds]) this.#refused.delete(id);
    const lost = [
      ...functions.filter(({ id }) => !functionIds.has(id)).map(functionFrame),
      ...triggers.filter(([id]) => !triggerIds.has(id)).map(([id, trigger]) => triggerFrame(id, trigger)),
    ];
    const dropped = lost.filter(({ id }) => !this.#refused.has(id));
    if (dropped.length > 0)
      this.#logger.warn('the bus has dropped what is registered here; it is registered again', {
        ids: dropped.map((frame) => (frame.type === 'registertrigger' ? frame.function_id : frame.id)),
      });
    return lost;
  }
}

function idsIn(answer: unknown, list: string, member: string): ReadonlySet<string> {
  const rows = (answer as Readonly<Record<string, unknown>> | null)?.[list];
  return new Set(Array.isArray(rows) ? rows.map((row) => row?.[member]) : []);
}

function commonPrefix(ids: readonly string[]): string {
  let prefix = ids[0] ?? '';
  for (const id of ids) while (!id.startsWith(prefix)) prefix = prefix.slice(0, -1);
  return prefix;
}

function functionFrame({ id, description, request, response }: BusFunction): RegisterFunction {
  return { type: 'registerfunction', id, description, request_format: request, response_format: response };
}

function triggerFrame(id: string, { type, function_id, config }: BusTrigger): RegisterTrigger {
  return { type: 'registertrigger', id, trigger_type: type, function_id, config };
}
