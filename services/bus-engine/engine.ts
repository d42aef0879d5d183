import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { type Health, healthOf } from '#kit/contracts/health.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Tokens } from '#kit/tokens/tokens.ts';
import type { Presented } from './admission/bus-access.ts';
import { Arguments, BuiltInError, type BuiltIns } from './builtin/built-in.ts';
import { type EngineFactsParts, engineFacts } from './builtin/engine-facts.ts';
import { registryLists } from './builtin/lists.ts';
import { Calls } from './calls/calls.ts';
import { failure, type Outcome } from './calls/pending-call.ts';
import { Channels } from './channels/channels.ts';
import type { BusConfig } from './configuration.ts';
import type { BindingStore } from './cron/binding-store.ts';
import { type Clock, CronClock, cronEvent, cronType } from './cron/cron-clock.ts';
import { Dispatch } from './dispatch.ts';
import { httpType, RouteTable } from './http/routes.ts';
import { Reaper } from './reaper.ts';
import { Functions, Owners } from './registry/functions.ts';
import { Workers } from './registry/workers.ts';
import { EventType } from './triggers/event-type.ts';
import type { Trigger } from './triggers/trigger.ts';
import { TriggerInvoker } from './triggers/trigger-invoker.ts';
import { checkKept, Triggers } from './triggers/triggers.ts';
import { Connection } from './wire/connection.ts';

export interface EngineParts extends Pick<EngineFactsParts, 'configFiles' | 'version'> {
  readonly config: BusConfig;
  readonly store: BindingStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Accepted {
  readonly ws: WebSocket;
  readonly socket: Duplex;
  readonly presented: Presented | null;
  readonly address: string;
}

/** Changes to the list of functions within this time are announced together. */
const announceAfterMs = 200;
/** Time limit of a function that is called with an announcement; the next one waits for it. */
const announcementMs = 30_000;

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
  readonly #functionsChanged: EventType;
  readonly #workersChanged: EventType;
  readonly #reaper: Reaper;
  #announcing: NodeJS.Timeout | null = null;

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
      builtIn: (id, data, peer) => this.#answerBuiltIn(id, data, peer),
      logger,
      now: clock.monotonic,
    });
    const timeoutMs = config.limits.call_seconds * 1_000;
    const invoker = new TriggerInvoker({ calls: this.calls, tokens: parts.tokens, timeoutMs, logger });
    this.#cron = new CronClock({
      store,
      clock,
      hasFunction: (id) => this.functions.get(id) !== undefined,
      fire: (tick) => inBackground('the bus engine', () => invoker.invoke(tick.binding, cronEvent(tick))),
      logger,
    });
    const fire = (trigger: Trigger, data: unknown) => invoker.invoke(trigger, data, announcementMs);
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
    const { buffered_bytes } = config.limits;
    this.#reaper = new Reaper({ ...this, tokens: parts.tokens, bufferedBytes: buffered_bytes, logger });
    this.#builtIns = this.#makeBuiltIns();
    this.#dispatch = new Dispatch({ ...this, triggers: this.#triggers });
  }

  /** Restores stored triggers, and starts cron and the reaper. */
  start(): void {
    for (const binding of this.#parts.store.all()) {
      try {
        checkKept(binding);
        if (binding.type === 'cron') this.#cron.restore(binding);
        if (binding.durable) this.#triggers.register({ ...binding, owner: null });
      } catch (error) {
        this.#setAside(binding.id, error);
      }
    }
    this.#cron.start();
    this.#reaper.start();
  }

  #setAside(id: string, error: unknown): void {
    const { store, logger } = this.#parts;
    logger.warn(`a stored trigger is set aside, because it cannot be used: ${messageOf(error)}`, {
      trigger: id,
    });
    try {
      store.setAside(id, messageOf(error));
      this.#cron.remove(id);
    } catch (cause) {
      logger.warn(`it cannot be set aside: ${messageOf(cause)}`, { trigger: id });
    }
  }

  /** Closes all connections of workers. */
  close(): void {
    this.#reaper.stop();
    if (this.#announcing !== null) clearTimeout(this.#announcing);
    this.#cron.stop();
    for (const connection of [...this.workers.all()]) connection.close(1001, 'the engine ends');
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
      // Calls to it stop at the limit itself; only answers to its own calls go beyond.
      maxUnread: 2 * limits.buffered_bytes,
      logger,
      handlers: {
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
    return healthOf('core-bus-engine', version, {
      workers: { status: 'ok', detail: `${this.workers.size} connected` },
      functions: { status: 'ok', detail: `${this.functions.size} registered` },
      calls: { status: 'ok', detail: `${this.calls.pending} without a result yet` },
      bindings: { status: 'ok', detail: store.path },
    });
  }

  #makeBuiltIns(): BuiltIns {
    const { config, configFiles, version, store } = this.#parts;
    return {
      ...registryLists({
        workers: this.workers,
        functions: this.functions,
        triggers: this.#triggers,
        store,
        version,
        startedAt: Date.now(),
        own: () => this.#builtIns,
        announced: ({ id }) => this.#workersChanged.emit(id, { event: 'worker_connected', worker_id: id }),
      }),
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
      return Promise.resolve(
        failure('invocation_error', 'Something failed inside the engine; its log says what.'),
      );
    }
  }

  #functionChanged(id: string): void {
    this.calls.available(id);
    if (this.#announcing !== null || !this.#functionsChanged.wanted) return;
    this.#announcing = setTimeout(
      guarded('the bus engine', () => {
        this.#announcing = null;
        const functions = [...this.functions.all()].map((registration) => ({ function_id: registration.id }));
        this.#functionsChanged.emit('functions', { event: 'functions_available', functions });
      }),
      announceAfterMs,
    );
  }

  #closed(connection: Connection): void {
    if (!this.workers.remove(connection)) return;
    this.functions.removeAllOf(connection);
    this.#triggers.removeAllOf(connection);
    this.channels.removeAllOf(connection);
    connection.sendBuffer.close();
    this.calls.gone(connection);
    const { id } = connection;
    this.#workersChanged.emit(id, { event: 'worker_disconnected', worker_id: id });
  }
}
