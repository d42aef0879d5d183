import type { Connection } from '../wire/connection.ts';

export interface Trigger {
  readonly id: string;
  readonly type: string;
  readonly functionId: string;
  readonly config: unknown;
  readonly metadata: unknown;
  /** Who registered it; null for one that does not end with a connection. */
  readonly owner: Connection | null;
  /** Name of the token that it was registered with. */
  readonly token: string | null;
}

export interface TriggerType {
  readonly id: string;
  readonly description: string;
  /** @returns why it has to wait until its type can serve it; null where it has not @throws TriggerRefused */
  register(trigger: Trigger): string | null;
  /** @param why whether it was asked for, or its connection ended */
  unregister(trigger: Trigger, why: 'asked' | 'left'): void;
}

export class TriggerRefused extends Error {
  override readonly name: string = 'TriggerRefused';
}

/** In frames: a cron trigger's next time is searched, and written to disk. */
export function registrationCost({ type }: Pick<Trigger, 'type'>): number {
  return type === 'cron' ? 1_000 : 1;
}

/** Its members by name. @throws TriggerRefused where the configuration is no object */
export function configOf({
  type,
  config,
}: Pick<Trigger, 'type' | 'config'>): Readonly<Record<string, unknown>> {
  if (typeof config === 'object' && config !== null && !Array.isArray(config))
    return config as Readonly<Record<string, unknown>>;
  throw new TriggerRefused(`config of ${type} triggers must be an object`);
}

/** Of `condition_function_id`, which every built-in type takes; null without one. @throws TriggerRefused */
export function conditionOf(trigger: Pick<Trigger, 'type' | 'config'>): string | null {
  const { condition_function_id: condition } = configOf(trigger);
  if (condition === undefined || condition === null) return null;
  if (typeof condition === 'string' && condition !== '') return condition;
  throw new TriggerRefused('condition_function_id must be the id of a function');
}
