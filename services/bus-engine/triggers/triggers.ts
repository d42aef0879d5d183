import type {
  RegisterTrigger,
  RegisterTriggerType,
  TriggerRegistrationResult,
} from '#kit/contracts/bus/frames.ts';
import type { Logger } from '#kit/log.ts';
import { weigh } from '../registry/kept-value.ts';
import { triggerTypeNotHere } from '../registry/not-here.ts';
import type { Connection } from '../wire/connection.ts';
import { type Trigger, TriggerRefused, type TriggerType } from './trigger.ts';

interface Provided {
  readonly frame: RegisterTriggerType;
  readonly provider: Connection;
}

export interface TypeListed {
  readonly id: string;
  readonly description: string;
  readonly provider: Connection | null;
  readonly frame: RegisterTriggerType | null;
}

export interface TriggersOptions {
  readonly builtIn: readonly TriggerType[];
  /** Of one connection. */
  readonly limit: number;
  readonly logger: Logger;
}

/** Triggers by id, and the types that watch for what they name: the engine's own, and those that workers provide. */
export class Triggers {
  readonly #byId = new Map<string, Trigger>();
  readonly #builtIn: ReadonlyMap<string, TriggerType>;
  readonly #provided = new Map<string, Provided>();
  /** By owner; null for those that do not end with a connection. */
  readonly #counts = new Map<Connection | null, number>();
  readonly #limit: number;
  readonly #logger: Logger;

  constructor({ builtIn, limit, logger }: TriggersOptions) {
    this.#builtIn = new Map(builtIn.map((type) => [type.id, type]));
    this.#limit = limit;
    this.#logger = logger;
  }

  all(): Iterable<Trigger> {
    return this.#byId.values();
  }

  *types(): Iterable<TypeListed> {
    for (const { id, description } of this.#builtIn.values())
      yield { id, description, provider: null, frame: null };
    for (const [id, { frame, provider }] of this.#provided)
      yield { id, description: frame.description, provider, frame };
  }

  get(id: string): Trigger | undefined {
    return this.#byId.get(id);
  }

  /**
   * A type that nobody provides yet is waited for, unless it is one that only an iii has.
   * @returns why one that is registered has to wait; null where it has not
   * @throws TriggerRefused
   */
  register(trigger: Trigger): string | null {
    const { id, type, owner } = trigger;
    const lacking = this.#builtIn.has(type) || this.#provided.has(type) ? null : triggerTypeNotHere(type);
    if (lacking !== null) throw new TriggerRefused(lacking);
    const earlier = this.#byId.get(id);
    if (earlier !== undefined && earlier.token !== trigger.token)
      throw new TriggerRefused(`a trigger ${id} is registered with another token`);
    if (earlier === undefined && this.#countOf(owner) >= this.#limit)
      throw new TriggerRefused(`there are ${this.#limit} triggers of this connection, the limit`);
    checkKept(trigger);
    if (earlier !== undefined) this.#remove(earlier, 'left');
    const waits = this.#builtIn.get(type)?.register(trigger) ?? null;
    this.#byId.set(id, trigger);
    this.#counts.set(owner, this.#countOf(owner) + 1);
    if (this.#builtIn.has(type)) return waits;
    const provided = this.#provided.get(type);
    if (provided !== undefined) provided.provider.send(watchFor(trigger));
    else this.#logger.info(`trigger ${id} waits for its type ${type}: no worker provides it`);
    return null;
  }

  /** Whether there was one that may be removed with this token. */
  unregister(id: string, token: string | null): boolean {
    const trigger = this.#byId.get(id);
    if (trigger === undefined || trigger.token !== token) return false;
    this.#remove(trigger, 'asked');
    return true;
  }

  /** @returns why it is not taken; null where it is */
  registerType(provider: Connection, frame: RegisterTriggerType): string | null {
    const { id, description, trigger_request_format, call_request_format } = frame;
    if (this.#builtIn.has(id) || id.startsWith('engine::')) return `trigger type ${id} is the engine's own`;
    const earlier = this.#provided.get(id);
    if (earlier !== undefined && earlier.provider.token !== provider.token)
      return `trigger type ${id} is provided by a worker with the token ${earlier.provider.token}`;
    if (earlier === undefined && this.#typesOf(provider) >= this.#limit)
      return `there are ${this.#limit} trigger types of this connection, the limit`;
    const weight = weigh({ description, trigger_request_format, call_request_format });
    if (typeof weight === 'string') return `trigger type ${id}: ${weight}`;
    this.#provided.set(id, { frame, provider });
    for (const trigger of this.#byId.values()) if (trigger.type === id) provider.send(watchFor(trigger));
    return null;
  }

  unregisterType(provider: Connection, id: string): void {
    if (this.#provided.get(id)?.provider === provider) this.#provided.delete(id);
  }

  /** What the provider of a type says of a trigger: who registered it hears of failures. */
  result(provider: Connection, frame: TriggerRegistrationResult): void {
    const trigger = this.#byId.get(frame.id);
    if (trigger === undefined || this.#provided.get(trigger.type)?.provider !== provider) return;
    if (frame.error == null) return;
    this.#forget(trigger);
    trigger.owner?.send(refusalOf(trigger, frame.error.code, frame.error.message));
  }

  removeAllOf(connection: Connection): void {
    for (const [id, { provider }] of this.#provided) if (provider === connection) this.#provided.delete(id);
    if (!this.#counts.has(connection)) return;
    for (const trigger of [...this.#byId.values()])
      if (trigger.owner === connection) this.#remove(trigger, 'left');
    this.#counts.delete(connection);
  }

  #remove(trigger: Trigger, why: 'asked' | 'left'): void {
    this.#forget(trigger);
    const builtIn = this.#builtIn.get(trigger.type);
    if (builtIn !== undefined) return void builtIn.unregister(trigger, why);
    const provided = this.#provided.get(trigger.type);
    provided?.provider.send({ type: 'unregistertrigger', id: trigger.id, trigger_type: trigger.type });
  }

  #forget({ id, owner }: Trigger): void {
    this.#byId.delete(id);
    this.#counts.set(owner, this.#countOf(owner) - 1);
  }

  #countOf(connection: Connection | null): number {
    return this.#counts.get(connection) ?? 0;
  }

  #typesOf(connection: Connection): number {
    let count = 0;
    for (const { provider } of this.#provided.values()) if (provider === connection) count++;
    return count;
  }
}

/** @throws TriggerRefused for what cannot be kept and written again */
export function checkKept({ config, metadata }: Pick<Trigger, 'config' | 'metadata'>): void {
  const weight = weigh({ config, metadata });
  if (typeof weight === 'string') throw new TriggerRefused(weight);
}

export function refusalOf(
  trigger: Pick<Trigger, 'id' | 'type' | 'functionId'>,
  code: string,
  message: string,
): TriggerRegistrationResult {
  return {
    type: 'triggerregistrationresult',
    id: trigger.id,
    trigger_type: trigger.type,
    function_id: trigger.functionId,
    error: { code, message },
  };
}

function watchFor({ id, type, functionId, config, metadata }: Trigger): RegisterTrigger {
  return {
    type: 'registertrigger',
    id,
    trigger_type: type,
    function_id: functionId,
    config,
    ...(metadata == null ? {} : { metadata }),
  };
}
