import { randomUUID } from 'node:crypto';
import { messageOf } from '#kit/errors.ts';
import type { BindingStore } from '../cron/binding-store.ts';
import type { Functions } from '../registry/functions.ts';
import type { Workers } from '../registry/workers.ts';
import { registrationCost, type Trigger, TriggerRefused } from '../triggers/trigger.ts';
import type { Triggers, TypeListed } from '../triggers/triggers.ts';
import type { Connection } from '../wire/connection.ts';
import { type Arguments, BuiltInError, type BuiltIns, present } from './built-in.ts';

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
      description: 'Describes what a trigger type takes',
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
      description: 'Describes when a trigger calls its function',
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
    config_summary: text.length > 120 ? `${text.slice(0, 119)}…` : text,
    ...present({ metadata }),
  };
}

const engineWorker = 'core-bus-engine';
const maxIds = 32;

function functionLists({ functions, triggers, own }: ListedParts): BuiltIns {
  function list(given: Arguments): unknown {
    const [search, prefix] = [given.optionalText('search'), given.optionalText('prefix')];
    const workers = given.has('worker') ? [given.text('worker')] : given.texts('workers', 1_000);
    const wanted = (id: string, description: string | null, worker: string) =>
      (prefix === null || id.startsWith(prefix)) &&
      (workers === null || workers.includes(worker)) &&
      (search === null || `${id} ${description ?? ''}`.toLowerCase().includes(search.toLowerCase()));
    const found: unknown[] = [];
    if (given.flag('include_internal')) {
      for (const [id, { description }] of Object.entries(own()))
        if (wanted(id, description, engineWorker))
          found.push({ function_id: id, worker_name: engineWorker, description });
    }
    for (const registration of functions.all()) {
      const { id, description, metadata } = registration;
      const worker = nameOf(registration.peer);
      if (!wanted(id, description, worker)) continue;
      found.push({ function_id: id, worker_name: worker, ...present({ description, metadata }) });
    }
    return { functions: found };
  }

  function info(id: string): unknown {
    const registration = functions.get(id);
    if (registration === undefined) {
      const builtIn = Object.hasOwn(own(), id) ? own()[id] : undefined;
      if (builtIn === undefined) throw new BuiltInError('NOT_FOUND', `Function ${id} not found`);
      const { description } = builtIn;
      return { function_id: id, worker_name: engineWorker, description, registered_triggers: [] };
    }
    const { description, request, response, metadata } = registration;
    const bound = [...triggers.all()].filter(({ functionId }) => functionId === id);
    return {
      function_id: id,
      worker_name: nameOf(registration.peer),
      ...present({ description, request_schema: request, response_schema: response, metadata }),
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
    'engine::functions::list': { description: 'Lists functions by id', reads: true, answer: list },
    'engine::functions::info': {
      description: 'Describes what functions take and give, and what calls them',
      reads: true,
      answer(given) {
        const ids = given.texts('function_ids', maxIds);
        if (ids !== null) return { functions: ids.map(infoOrError) };
        if (given.has('function_id')) return info(given.text('function_id'));
        throw new BuiltInError('INVALID_ARGUMENTS', 'function_id, or function_ids for several, is missing');
      },
    },
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
    const [search, runtime] = [given.optionalText('search')?.toLowerCase(), given.optionalText('runtime')];
    const status = given.optionalText('status');
    return {
      workers: all().filter(
        (worker) =>
          (search === undefined ||
            `${worker.name} ${worker.description ?? ''}`.toLowerCase().includes(search)) &&
          (runtime === null || worker.runtime === runtime) &&
          (status === null || worker.status === status),
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
    'engine::workers::register': {
      description: 'Says who a worker is',
      reads: true,
      answer: register,
    },
    'engine::workers::list': { description: 'Lists workers', reads: true, answer: list },
    'engine::workers::info': { description: 'Describes what a worker provides', reads: true, answer: info },
  };
}

/** Words of a worker about itself, in the length of a line. */
function short(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, 500) : null;
}
