import type { Functions } from '../registry/functions.ts';
import type { Workers } from '../registry/workers.ts';
import type { Triggers } from '../triggers/triggers.ts';
import type { Connection } from '../wire/connection.ts';
import { type Arguments, BuiltInError, type BuiltIns } from './built-in.ts';
import { engineWorker } from './function-lists.ts';
import { triggerFacts } from './trigger-lists.ts';

export interface WorkerListParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly triggers: Triggers;
  readonly version: string;
  readonly startedAt: number;
  /** Called when a worker introduced itself. */
  readonly announced: (connection: Connection) => void;
}

export function workerLists(parts: WorkerListParts): BuiltIns {
  const { workers, functions, triggers, version, startedAt, announced } = parts;

  function register(given: Arguments, connection: Connection): unknown {
    const pid = given.any('pid');
    connection.announced = {
      name: short(given.any('name')),
      description: short(given.any('description')),
      version: short(given.any('version')),
      runtime: short(given.any('runtime')),
      os: short(given.any('os')),
      pid: Number.isSafeInteger(pid) ? (pid as number) : null,
      isolation: short(given.any('isolation')),
    };
    announced(connection);
    return { success: true };
  }

  function factsOf(connection: Connection): Record<string, unknown> {
    const { name, description, version: own, runtime, os, isolation } = connection.announced!;
    return {
      id: connection.id,
      name: name ?? connection.id,
      description,
      version: own,
      runtime,
      os,
      status: 'connected',
      function_count: functions.countOf(connection),
      connected_at_ms: connection.connectedAt,
      active_invocations: connection.runningCalls,
      isolation,
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
    'engine::workers::info': { description: 'Tells what a worker provides', reads: true, answer: info },
  };
}

/** Words of a worker about itself, in the length of a line. */
function short(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, 500) : null;
}
