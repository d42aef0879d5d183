import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Health } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Tokens } from '#kit/tokens.ts';
import { Arguments, BuiltInError, type BuiltIns } from './builtin/built-in.ts';
import { type EngineFactsParts, engineFacts } from './builtin/engine-facts.ts';
import { functionLists } from './builtin/function-lists.ts';
import { triggerLists } from './builtin/trigger-lists.ts';
import { workerLists } from './builtin/worker-lists.ts';
import { Calls } from './calls/calls.ts';
import { failure, type Outcome } from './calls/pending-call.ts';
import { Channels } from './channels/channels.ts';
import type { BusConfig } from './configuration.ts';
import type { BindingStore } from './cron/binding-store.ts';
import { type Clock, CronClock, type Tick } from './cron/cron-clock.ts';
import { Dispatch } from './dispatch.ts';
import { httpType } from './http/http-type.ts';
import { RouteTable } from './http/route-table.ts';
import { Functions } from './registry/functions.ts';
import { Owners } from './registry/owners.ts';
import { Workers } from './registry/workers.ts';
import { cronType } from './triggers/cron-type.ts';
import { EventType } from './triggers/event-type.ts';
import { conditionOf, type Trigger } from './triggers/trigger.ts';
import { Triggers } from './triggers/triggers.ts';
import type { Presented } from './wire/bus-access.ts';
import { Connection } from './wire/connection.ts';
import { Turn } from './wire/turn.ts';

export interface EngineParts extends Pick<EngineFactsParts, 'configFiles' | 'version'> {
  readonly config: BusConfig;
  readonly store: BindingStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What came over one upgrade. */
export interface Accepted {
  readonly ws: WebSocket;
  readonly socket: Duplex;
  readonly presented: Presented | null;
  readonly address: string;
}

/** Milliseconds from one look at everything to the next. */
const upkeepMs = 1_000;
/** Silent for so many looks, a connection is asked whether it is there; for twice as many more, it is not. */
const silentLooks = 30;
/** Changes to the list of functions are told together. */
const tellAfterMs = 200;

/** The engine without its sockets: workers, what they provide, and what passes between them. */
export class Engine {
  readonly functions: Functions;
  readonly workers = new Workers();
  readonly routes = new RouteTable();
  readonly calls: Calls;
  readonly channels: Channels;
  readonly #parts: EngineParts;
  readonly #triggers: Triggers;
  readonly #builtIns: BuiltIns;
  readonly #dispatch: Dispatch;
  readonly #cron: CronClock;
  readonly #turn = new Turn();
  readonly #functionsChanged: EventType;
  readonly #workersChanged: EventType;
  readonly #silent = new Map<Connection, number>();
  #upkeep: NodeJS.Timeout | null = null;
  #telling: NodeJS.Timeout | null = null;

  constructor(parts: EngineParts) {
    const { config, store, clock, logger } = parts;
    this.#parts = parts;
    const owners = new Owners(config.owners);
    this.channels = new Channels(clock.monotonic);
    this.functions = new Functions({
      owners,
      limit: config.limits.functions,
      changed: (id) => this.#functionChanged(id),
    });
    this.calls = new Calls({
      functions: this.functions,
      limits: config.limits,
      builtIn: (id, data, peer) => this.#answerBuiltIn(id, data, peer as Connection),
      logger,
      now: clock.monotonic,
    });
    this.#cron = new CronClock({
      store,
      clock,
      hasFunction: (id) => this.functions.get(id) !== undefined,
      fire: (tick) => this.#tick(tick),
      logger,
    });
    const fire = (trigger: Trigger, data: unknown) => void this.#fire(trigger, data);
    this.#functionsChanged = new EventType(
      'engine::functions-available',
      'Calls a function when functions come or go',
      fire,
    );
    this.#workersChanged = new EventType(
      'engine::workers-available',
      'Calls a function when workers come or go',
      fire,
    );
    this.#triggers = new Triggers({
      builtIn: [
        httpType(this.routes, owners),
        cronType(this.#cron),
        this.#functionsChanged,
        this.#workersChanged,
      ],
      limit: config.limits.triggers,
      logger,
    });
    this.#builtIns = this.#makeBuiltIns();
    this.#dispatch = new Dispatch({ ...this, triggers: this.#triggers, logger });
  }

  /** Takes up what is on disk, and begins to tick. */
  start(): void {
    const { store, logger } = this.#parts;
    for (const binding of store.all()) {
      try {
        if (binding.type === 'cron') this.#cron.restore(binding);
        if (binding.durable) this.#triggers.register({ ...binding, owner: null });
      } catch (error) {
        logger.warn(`a stored trigger cannot be used: ${messageOf(error)}`, { trigger: binding.id });
      }
    }
    this.#cron.start();
    this.#upkeep = setInterval(() => this.#look(), upkeepMs);
  }

  /** Says goodbye to all workers. */
  close(): void {
    if (this.#upkeep !== null) clearInterval(this.#upkeep);
    if (this.#telling !== null) clearTimeout(this.#telling);
    this.#cron.stop();
    for (const connection of [...this.workers.all()]) connection.close(1001, 'the engine ends');
  }

  /** Ends at once those that did not answer the goodbye. */
  terminate(): void {
    for (const connection of [...this.workers.all()]) connection.terminate();
  }

  accept({ ws, socket, presented, address }: Accepted): Connection {
    const { config, logger } = this.#parts;
    const { limits, require_token } = config;
    const connection = new Connection({
      ws,
      socket,
      token: presented === null ? null : { name: presented.identity.name, text: presented.text },
      mayCall: presented === null ? !require_token : presented.identity.scopes.includes('plan'),
      address,
      framesPerSecond: limits.frames_per_second,
      turn: this.#turn,
      logger,
      handlers: {
        bytes: (from, frame) => this.calls.passOn(from, frame),
        frame: (from, frame) => this.#dispatch.frame(from, frame),
        fault: (from, fault) => this.#dispatch.fault(from, fault),
        closed: (from) => this.#closed(from),
      },
    });
    this.workers.add(connection);
    const { id, reattachToken } = connection;
    connection.send({ type: 'workerregistered', worker_id: id, reattach_token: reattachToken });
    return connection;
  }

  health(): Health {
    const { version, store } = this.#parts;
    return {
      status: 'ok',
      service: 'core-bus-engine',
      version,
      checks: {
        workers: { status: 'ok', detail: `${this.workers.size} connected` },
        functions: { status: 'ok', detail: `${this.functions.size} registered` },
        calls: { status: 'ok', detail: `${this.calls.pending} without a result yet` },
        bindings: { status: 'ok', detail: store.path },
      },
    };
  }

  #makeBuiltIns(): BuiltIns {
    const { config, configFiles, version, store } = this.#parts;
    const [functions, triggers] = [this.functions, this.#triggers];
    return {
      ...functionLists({ functions, triggers, own: () => this.#builtIns }),
      ...workerLists({
        workers: this.workers,
        functions,
        triggers,
        version,
        startedAt: Date.now(),
        announced: ({ id }) => this.#workersChanged.emit({ event: 'worker_connected', worker_id: id }),
      }),
      ...triggerLists({ triggers, store }),
      ...engineFacts({ config, configFiles, storePath: store.path, version, channels: this.channels }),
    };
  }

  #answerBuiltIn(id: string, data: unknown, connection: Connection): Promise<Outcome> | null {
    if (!Object.hasOwn(this.#builtIns, id)) return null;
    const { answer, reads } = this.#builtIns[id]!;
    if (!reads && !connection.mayCall)
      return Promise.resolve(
        failure('FORBIDDEN', `token ${connection.token} has no scope plan: ${id} needs it`),
      );
    try {
      return Promise.resolve({ ok: true, result: answer(new Arguments(data), connection) });
    } catch (error) {
      if (error instanceof BuiltInError) return Promise.resolve(failure(error.code, error.message));
      this.#parts.logger.error(`${id} failed`, { error });
      return Promise.resolve(failure('invocation_error', 'Something failed inside; the log tells more.'));
    }
  }

  #tick({ binding, scheduled, actual }: Tick): void {
    const { id, functionId, metadata, config, type } = binding;
    const data = {
      trigger: 'cron',
      job_id: id,
      scheduled_time: new Date(scheduled).toISOString(),
      actual_time: new Date(actual).toISOString(),
    };
    void this.#fire({ id, type, functionId, config, metadata }, data);
  }

  async #fire(
    trigger: Pick<Trigger, 'id' | 'type' | 'functionId' | 'config' | 'metadata'>,
    data: unknown,
  ): Promise<void> {
    const { id, functionId, metadata } = trigger;
    const timeoutMs = this.#parts.config.limits.call_seconds * 1_000;
    const condition = conditionOf(trigger);
    if (condition !== null) {
      const held = await this.calls.call(condition, data, timeoutMs);
      if (held.ok && held.result === false) return;
      if (!held.ok) return this.#failed(id, condition, held.error.message);
    }
    const outcome = await this.calls.call(functionId, data, timeoutMs, metadata);
    if (!outcome.ok) this.#failed(id, functionId, outcome.error.message);
  }

  #failed(trigger: string, functionId: string, message: string): void {
    this.#parts.logger.warn(`a trigger's call of ${functionId} failed: ${message}`, { trigger });
  }

  #functionChanged(id: string): void {
    this.calls.available(id);
    if (this.#telling !== null || !this.#functionsChanged.wanted) return;
    this.#telling = setTimeout(() => {
      this.#telling = null;
      const functions = [...this.functions.all()].map((registration) => ({ function_id: registration.id }));
      this.#functionsChanged.emit({ event: 'functions_available', functions });
    }, tellAfterMs);
  }

  #closed(connection: Connection): void {
    if (!this.workers.remove(connection)) return;
    this.#silent.delete(connection);
    const back = connection.outbox.takeBack();
    this.functions.removeAllOf(connection);
    this.#triggers.removeAllOf(connection);
    this.calls.gone(connection, back);
    this.#workersChanged.emit({ event: 'worker_disconnected', worker_id: connection.id });
  }

  #look(): void {
    this.calls.sweep();
    this.channels.sweep();
    const valid = new Map<string, boolean>();
    for (const connection of [...this.workers.all()]) {
      if (!this.#isValid(connection, valid)) connection.close(1008, 'the token is revoked or expired');
      else this.#listen(connection);
    }
  }

  #isValid({ tokenText }: Connection, valid: Map<string, boolean>): boolean {
    if (tokenText === null) return true;
    let is = valid.get(tokenText);
    if (is === undefined) {
      is = this.#parts.tokens.authenticate(tokenText) !== null;
      valid.set(tokenText, is);
    }
    return is;
  }

  /** A machine that vanished says nothing, not even goodbye. */
  #listen(connection: Connection): void {
    const looks = connection.heard ? 0 : (this.#silent.get(connection) ?? 0) + 1;
    connection.heard = false;
    this.#silent.set(connection, looks);
    if (looks === silentLooks || looks === 2 * silentLooks) connection.ping();
    if (looks >= 3 * silentLooks) connection.terminate();
  }
}
