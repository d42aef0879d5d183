import type { Functions, Registration } from '../registry/functions.ts';
import type { Triggers } from '../triggers/triggers.ts';
import { type Arguments, BuiltInError, type BuiltIns, present } from './built-in.ts';
import { triggerFacts } from './trigger-lists.ts';

export const engineWorker = 'core-bus-engine';
const maxIds = 32;

export interface FunctionListParts {
  readonly functions: Functions;
  readonly triggers: Triggers;
  /** The engine's own, which are listed where that is asked for. */
  readonly own: () => BuiltIns;
}

export function functionLists({ functions, triggers, own }: FunctionListParts): BuiltIns {
  function list(given: Arguments): unknown {
    const [search, prefix] = [given.optionalText('search'), given.optionalText('prefix')];
    const workers = given.has('worker') ? [given.text('worker')] : given.texts('workers', 1_000);
    const wanted = ({
      id,
      description,
      worker,
    }: {
      id: string;
      description: string | null;
      worker: string;
    }) =>
      (prefix === null || id.startsWith(prefix)) &&
      (workers === null || workers.includes(worker)) &&
      (search === null || `${id} ${description ?? ''}`.toLowerCase().includes(search.toLowerCase()));
    const found: unknown[] = [];
    if (given.flag('include_internal')) {
      for (const [id, { description }] of Object.entries(own()))
        if (wanted({ id, description, worker: engineWorker }))
          found.push({ function_id: id, worker_name: engineWorker, description });
    }
    for (const registration of functions.all()) {
      const { id, description, metadata } = registration;
      const worker = workerOf(registration);
      if (!wanted({ id, description, worker })) continue;
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
      worker_name: workerOf(registration),
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
      description: 'Tells what functions take and give, and what calls them',
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

/** What a worker calls itself, else its id. */
export function workerOf({ peer }: Registration): string {
  return peer.name ?? peer.id;
}
