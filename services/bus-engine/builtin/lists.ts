import { randomUUID } from 'node:crypto';
import { messageOf } from '#kit/errors.ts';
import { cutText } from '#kit/redaction/cut-text.ts';
import type { BindingStore } from '../cron/binding-store.ts';
import type { Functions } from '../registry/functions.ts';
import type { Workers } from '../registry/workers.ts';
import { registrationCost, type Trigger, TriggerRefused } from '../triggers/trigger.ts';
import type { Triggers, TypeListed } from '../triggers/triggers.ts';
import type { Connection } from '../wire/connection.ts';
import { type Arguments, BuiltInError, type BuiltIns, present, reading } from './built-in.ts';

interface ListedParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly triggers: Triggers;
  readonly store: Pick<BindingStore, 'put' | 'remove'>;
  readonly version: string;
  readonly startedAt: number;
  /** The engine's own functions, which are listed on request. */
  readonly own: () => BuiltIns;
  /** Called when a worker introduced itself. */
  readonly announced: (connection: Connection) => void;
}

/** Lists of functions, workers and triggers, and the registrations that have no frame. */
export function registryLists(parts: ListedParts): BuiltIns {
  return { ...functionLists(parts), ...workerLists(parts), ...triggerLists(parts) };
}

export function triggerLists({ triggers, store }: Pick<ListedParts, 'triggers' | 'store'>): BuiltIns {
  function types(given: Arguments): TypeListed[] {
    return [...triggers.types()].filter(({ id, description }) => given.finds(`${id} ${description}`));
  }

  function registered(given: Arguments): Trigger[] {
    return [...triggers.all()].filter(
      ({ type, functionId, owner }) =>
        given.selects('trigger_type', type) &&
        given.selects('function_id', functionId) &&
        given.selects('worker', owner?.name, owner?.id) &&
        given.finds(`${type} ${functionId}`),
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
    'engine::triggers::list': reading('Lists what can call functions', (given) => ({
      triggers: types(given).map(typeFacts),
    })),
    'engine::triggers::info': reading('Describes what a trigger type takes', (given) => {
      const id = given.text('id');
      const found = [...triggers.types()].find((type) => type.id === id);
      if (found === undefined) throw new BuiltInError('NOT_FOUND', `Trigger type ${id} not found`);
      const { trigger_request_format, call_request_format } = found.frame ?? {};
      return { ...typeFacts(found), ...present({ trigger_request_format, call_request_format }) };
    }),
    'engine::registered-triggers::list': reading('Lists what calls which functions', (given) => ({
      registered_triggers: registered(given).map(triggerFacts),
    })),
    'engine::registered-triggers::info': reading('Describes when a trigger calls its function', (given) => {
      const id = given.text('id');
      const trigger = triggers.get(id);
      if (trigger === undefined) throw new BuiltInError('NOT_FOUND', `Trigger ${id} not found`);
      return triggerFacts(trigger);
    }),
    'engine::register_trigger': {
      description: 'Registers a trigger that does not end with the connection',
      reads: false,
      answer: register,
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
  return { id, worker_name: nameOf(provider), description };
}

function triggerFacts({ id, type, functionId, owner, config, metadata }: Trigger): {
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
    worker_name: nameOf(owner),
    config,
    config_summary: cutText(text, 120),
    ...present({ metadata }),
  };
}

const engineWorker = 'core-bus-engine';
const maxIds = 32;

function functionLists({ functions, triggers, own }: ListedParts): BuiltIns {
  function list(given: Arguments): unknown {
    const prefix = given.optionalText('prefix') ?? '';
    const workers = given.has('worker') ? [given.text('worker')] : given.texts('workers', 1_000);
    const internal = given.flag('include_internal') ? Object.entries(own()) : [];
    const all = [
      ...internal.map(([id, { description }]) => ({
        function_id: id,
        worker_name: engineWorker,
        description,
      })),
      ...[...functions.all()].map(({ id, peer, description, metadata }) => ({
        function_id: id,
        worker_name: nameOf(peer),
        ...present({ description, metadata }),
      })),
    ];
    return {
      functions: all.filter(
        ({ function_id, worker_name, description }) =>
          function_id.startsWith(prefix) &&
          (workers === null || workers.includes(worker_name)) &&
          given.finds(`${function_id} ${description ?? ''}`),
      ),
    };
  }

  function info(id: string): unknown {
    const registration = functions.get(id);
    if (registration === undefined) {
      const builtIn = Object.hasOwn(own(), id) ? own()[id] : undefined;
      if (builtIn === undefined) throw new BuiltInError('NOT_FOUND', `Function ${id} not found`);
      const { description } = builtIn;
      return { function_id: id, worker_name: engineWorker, description, registered_triggers: [] };
    }
    const { description, request_format, response_format, metadata } = registration;
    const bound = [...triggers.all()].filter(({ functionId }) => functionId === id);
    return {
      function_id: id,
      worker_name: nameOf(registration.peer),
      ...present({
        description,
        request_schema: request_format,
        response_schema: response_format,
        metadata,
      }),
      registered_triggers: bound.map((trigger) => {
        const { id: triggerId, trigger_type, config } = triggerFacts(trigger);
        return { id: triggerId, trigger_type, config };
      }),
    };
  }

  /** A missing function must not hide the others. */
  function infoOrError(id: string): unknown {
    try {
      return info(id);
    } catch (error) {
      if (error instanceof BuiltInError) return { function_id: id, error: 'not_found' };
      throw error;
    }
  }

  return {
    'engine::functions::list': reading('Lists functions by id', list),
    'engine::functions::info': reading(
      'Describes what functions take and give, and what calls them',
      (given) => {
        const ids = given.texts('function_ids', maxIds);
        if (ids !== null) return { functions: ids.map(infoOrError) };
        if (given.has('function_id')) return info(given.text('function_id'));
        throw new BuiltInError('INVALID_ARGUMENTS', 'function_id, or function_ids for several, is missing');
      },
    ),
  };
}

/** What a worker calls itself, else its id; the engine's own name for what no connection provides. */
function nameOf(peer: Pick<Connection, 'name' | 'id'> | null): string {
  return peer === null ? engineWorker : (peer.name ?? peer.id);
}

function workerLists({ workers, functions, triggers, version, startedAt, announced }: ListedParts): BuiltIns {
  function register(given: Arguments, connection: Connection): unknown {
    connection.announced = {
      name: short(given.any('name')),
      description: short(given.any('description')),
      version: short(given.any('version')),
      runtime: short(given.any('runtime')),
      os: short(given.any('os')),
      isolation: short(given.any('isolation')),
    };
    announced(connection);
    return { success: true };
  }

  function factsOf(connection: Connection): Record<string, unknown> {
    return {
      id: connection.id,
      ...connection.announced,
      name: nameOf(connection),
      status: 'connected',
      function_count: functions.countOf(connection),
      connected_at_ms: connection.connectedAt,
      active_invocations: connection.runningCalls,
      ip_address: connection.address,
    };
  }

  function engineFacts(): Record<string, unknown> {
    return {
      id: engineWorker,
      name: engineWorker,
      description: 'The engine itself',
      version,
      runtime: 'engine',
      os: process.platform,
      status: 'connected',
      function_count: 0,
      connected_at_ms: startedAt,
      active_invocations: 0,
      isolation: null,
      ip_address: null,
    };
  }

  /** Connections that never introduced themselves are not listed. */
  function all(): Record<string, unknown>[] {
    const introduced = [...workers.all()].filter(({ announced: facts }) => facts !== null);
    return [engineFacts(), ...introduced.map(factsOf)];
  }

  function list(given: Arguments): unknown {
    return {
      workers: all().filter(
        ({ name, description, runtime, status }) =>
          given.finds(`${name} ${description ?? ''}`) &&
          given.selects('runtime', runtime) &&
          given.selects('status', status),
      ),
    };
  }

  function info(given: Arguments): unknown {
    const name = given.text('name');
    const worker = all().find((one) => one.name === name || one.id === name);
    if (worker === undefined) throw new BuiltInError('NOT_FOUND', `Worker ${name} not found`);
    const ids = [...functions.all()].filter(({ peer }) => peer.id === worker.id).map(({ id }) => id);
    return {
      worker,
      functions: ids,
      trigger_types: [...triggers.types()]
        .filter(({ provider }) => (provider?.id ?? engineWorker) === worker.id)
        .map(({ id }) => id),
      registered_triggers: [...triggers.all()]
        .filter(({ owner }) => owner?.id === worker.id)
        .map(triggerFacts),
    };
  }

  return {
    'engine::workers::register': reading('Says who a worker is', register),
    'engine::workers::list': reading('Lists workers', list),
    'engine::workers::info': reading('Describes what a worker provides', info),
  };
}

/** Words of a worker about itself, in the length of a line. */
function short(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, 500) : null;
}
