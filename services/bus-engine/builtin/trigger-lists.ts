import { randomUUID } from 'node:crypto';
import { messageOf } from '#kit/errors.ts';
import type { BindingStore } from '../cron/binding-store.ts';
import { registrationCost, type Trigger, TriggerRefused } from '../triggers/trigger.ts';
import type { Triggers, TypeListed } from '../triggers/triggers.ts';
import type { Connection } from '../wire/connection.ts';
import { type Arguments, BuiltInError, type BuiltIns, present } from './built-in.ts';

export interface TriggerListParts {
  readonly triggers: Triggers;
  readonly store: Pick<BindingStore, 'put' | 'remove'>;
}

export function triggerLists({ triggers, store }: TriggerListParts): BuiltIns {
  function types(given: Arguments): TypeListed[] {
    const search = given.optionalText('search')?.toLowerCase();
    return [...triggers.types()].filter(
      ({ id, description }) => search === undefined || `${id} ${description}`.toLowerCase().includes(search),
    );
  }

  function registered(given: Arguments): Trigger[] {
    const [type, functionId] = [given.optionalText('trigger_type'), given.optionalText('function_id')];
    const [worker, search] = [given.optionalText('worker'), given.optionalText('search')?.toLowerCase()];
    return [...triggers.all()].filter(
      (trigger) =>
        (type === null || trigger.type === type) &&
        (functionId === null || trigger.functionId === functionId) &&
        (worker === null || trigger.owner?.name === worker || trigger.owner?.id === worker) &&
        (search === undefined || `${trigger.type} ${trigger.functionId}`.toLowerCase().includes(search)),
    );
  }

  function register(given: Arguments, caller: Pick<Connection, 'token' | 'charge'>): unknown {
    const { token } = caller;
    const trigger: Trigger = {
      id: randomUUID(),
      type: given.text('trigger_type'),
      functionId: given.text('function_id'),
      config: given.any('config') ?? {},
      metadata: given.any('metadata') ?? null,
      owner: null,
      token,
    };
    caller.charge(registrationCost(trigger));
    try {
      triggers.register(trigger);
    } catch (error) {
      if (!(error instanceof TriggerRefused)) throw error;
      throw new BuiltInError('trigger_registration_failed', messageOf(error));
    }
    // A cron binding is stored by its clock, with its next tick.
    if (trigger.type !== 'cron') put(trigger);
    return { id: trigger.id };
  }

  /** A trigger whose storing failed must not stay registered. */
  function put(trigger: Trigger): void {
    try {
      store.put({ ...trigger, durable: true, due: null });
    } catch (error) {
      triggers.unregister(trigger.id, trigger.token);
      throw error;
    }
  }

  return {
    'engine::triggers::list': {
      description: 'Lists what can call functions',
      reads: true,
      answer: (given) => ({ triggers: types(given).map(typeFacts) }),
    },
    'engine::triggers::info': {
      description: 'Tells what a trigger type takes',
      reads: true,
      answer(given) {
        const id = given.text('id');
        const found = [...triggers.types()].find((type) => type.id === id);
        if (found === undefined) throw new BuiltInError('NOT_FOUND', `Trigger type ${id} not found`);
        const { trigger_request_format, call_request_format } = found.frame ?? {};
        return { ...typeFacts(found), ...present({ trigger_request_format, call_request_format }) };
      },
    },
    'engine::registered-triggers::list': {
      description: 'Lists what calls which functions',
      reads: true,
      answer: (given) => ({ registered_triggers: registered(given).map(triggerFacts) }),
    },
    'engine::registered-triggers::info': {
      description: 'Tells when a trigger calls its function',
      reads: true,
      answer(given) {
        const trigger = triggers.get(given.text('id'));
        if (trigger === undefined)
          throw new BuiltInError('NOT_FOUND', `Trigger ${given.text('id')} not found`);
        return triggerFacts(trigger);
      },
    },
    'engine::register_trigger': {
      description: 'Registers a trigger that does not end with the connection',
      reads: false,
      answer: (given, caller) => register(given, caller),
    },
    'engine::unregister_trigger': {
      description: 'Removes a trigger',
      reads: false,
      answer(given, caller) {
        const id = given.text('id');
        const removed = triggers.unregister(id, caller.token);
        if (removed) store.remove(id);
        return { removed };
      },
    },
  };
}

function typeFacts({ id, description, provider }: TypeListed): Record<string, unknown> {
  return {
    id,
    worker_name: provider === null ? 'core-bus-engine' : (provider.name ?? provider.id),
    description,
  };
}

export function triggerFacts({ id, type, functionId, owner, config, metadata }: Trigger): {
  readonly id: string;
  readonly trigger_type: string;
  readonly config: unknown;
  readonly [name: string]: unknown;
} {
  const text = JSON.stringify(config) ?? 'null';
  return {
    id,
    trigger_type: type,
    function_id: functionId,
    worker_name: owner === null ? 'core-bus-engine' : (owner.name ?? owner.id),
    config,
    config_summary: text.length > 120 ? `${text.slice(0, 119)}…` : text,
    ...present({ metadata }),
  };
}
