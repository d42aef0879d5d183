import { platform, release } from 'node:os';
import { guarded, inBackground } from '../callbacks.ts';
import type { EngineFrame, InvokeFunction, WorkerFrame } from '../contracts/bus/frames.ts';
import type { Logger } from '../log.ts';
import { ownVersion } from '../program.ts';
import { startupLogLevel } from '../supervisor-channel.ts';
import { type Bus, BusError } from './bus.ts';
import { BusConnection, type BusTiming, defaultTiming } from './bus-connection.ts';
import { Answers, PendingCalls } from './calls.ts';
import { Registrations } from './registrations.ts';

export interface BusOptions {
  /** For example `ws://127.0.0.1:49134`; a function is asked before each attempt to connect. */
  readonly url: string | (() => string);
  /** null: the bus wants none, or is not ours. */
  readonly token: string | null | (() => string | null);
  /** The worker's name in the bus's lists. */
  readonly name: string;
  readonly logger: Logger;
  /** PEM of a certificate to trust beside the system's. */
  readonly ca?: string | null;
  readonly timing?: Partial<BusTiming>;
  /** Called whenever the connection comes or goes. */
  readonly watch?: (connected: boolean) => void;
  /** Called with the reason whenever an attempt to connect failed or the connection is gone; the next attempt follows by itself. */
  readonly failed?: (reason: string) => void;
}

/**
 * The bus over a websocket: our own engine, or an iii. Connects at once.
 *
 * The official client, `iii-sdk` 0.22.1, was tried here in a wrapper: it failed 30 of the 46 tests of this client. It has no place
 * for a certificate, does not report why or whether it is connected, writes to standard output, where commands write their results,
 * leaves calls of a lost connection to their time limit, carries a trace only with OpenTelemetry, and answers every failure with
 * `invocation_failed` and the stack. Importing it takes 210 ms, 36 MiB and 40 packages; `ws` takes 38 ms, 13 MiB and itself.
 */
export function connectBus(options: BusOptions): Bus {
  const { url, token, name, logger, ca = null, watch = () => {}, failed = () => {} } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const arrivals = new Set<() => void>();
  let closed = false;
  let checks: NodeJS.Timeout | undefined;
  let checking = false;

  const connection = new BusConnection({
    url: typeof url === 'string' ? () => url : url,
    token: typeof token === 'function' ? token : () => token,
    ca,
    timing,
    logger,
    opened,
    received,
    failed,
    lost(reason) {
      clearInterval(checks);
      watch(false);
      calls.loseSent(reason);
    },
  });
  const registrations = new Registrations(logger);
  const answers = new Answers(registrations, connection, logger);
  const calls = new PendingCalls(connection);

  function opened(): void {
    sendAll([introduction(name), ...registrations.all()]);
    answers.flush();
    calls.flush();
    checks = setInterval(guarded('the connection to the bus', registerMissing), timing.recheckMs);
    logger[startupLogLevel()]('connected to the bus');
    watch(true);
    for (const arrived of arrivals) arrived();
  }

  /** Registers again what the bus does not list any more, or refused before. */
  async function registerMissing(): Promise<void> {
    if (checking) return;
    checking = true;
    const timeoutMs = timing.openingMs;
    try {
      sendAll(await registrations.missing((id, data) => calls.call(id, data, { timeoutMs })));
    } catch {
      // A bus without these lists, or none at the moment: the next check finds what is missing.
    }
    checking = false;
  }

  function sendAll(frames: readonly WorkerFrame[]): void {
    for (const frame of frames) connection.send(JSON.stringify(frame));
  }

  function received(frame: EngineFrame): void {
    switch (frame.type) {
      case 'invocationresult':
        calls.settle(frame);
        return;
      case 'invokefunction':
        inBackground('the connection to the bus', () => answers.answer(frame));
        return;
      case 'ping':
        sendAll([{ type: 'pong' }]);
        return;
      case 'registrationrejected':
      case 'triggerregistrationresult':
        registrations.refused(frame);
        return;
      default:
        // The rest is for providers of trigger types.
        return;
    }
  }

  return {
    register(functions, triggers = []) {
      sendAll(registrations.add(functions, triggers));
    },
    async call(function_id, data, callOptions = {}) {
      if (closed) throw busClosed();
      return await calls.call(function_id, data, callOptions);
    },
    get connected() {
      return connection.open;
    },
    async whenConnected(timeoutMs) {
      if (connection.open) return;
      if (closed) throw busClosed();
      const { promise, resolve } = Promise.withResolvers<void>();
      arrivals.add(resolve);
      const timer = setTimeout(resolve, timeoutMs);
      await promise;
      clearTimeout(timer);
      arrivals.delete(resolve);
      if (!connection.open)
        throw new BusError('not_connected', `no connection within ${timeoutMs} ms: ${connection.problem}`);
    },
    async close() {
      if (closed) return;
      closed = true;
      clearInterval(checks);
      answers.end();
      calls.endAll();
      await connection.close();
    },
  };
}

function busClosed(): BusError {
  return new BusError('bus_closed', 'the bus was closed here');
}

/** What lists of workers show; no answer comes. */
function introduction(name: string): InvokeFunction {
  return {
    type: 'invokefunction',
    function_id: 'engine::workers::register',
    action: { type: 'void' },
    data: {
      name,
      runtime: 'node',
      version: ownVersion(),
      os: `${platform()} ${release()}`,
      pid: process.pid,
      isolation: null,
    },
  };
}
