import { platform, release } from 'node:os';
import type { EngineFrame, InvokeFunction, WorkerFrame } from '../contracts/bus/frames.ts';
import type { Logger } from '../log.ts';
import { ownVersion } from '../own-version.ts';
import { levelOfNews } from '../supervisor-channel.ts';
import { Answers } from './answers.ts';
import { type Bus, BusError } from './bus.ts';
import { BusConnection } from './bus-connection.ts';
import { PendingCalls } from './pending-calls.ts';
import { Registrations } from './registrations.ts';
import { type BusTiming, usualTiming } from './timing.ts';

export interface BusOptions {
  /** For example `ws://127.0.0.1:49134`; a function is asked before each connecting. */
  readonly url: string | (() => string);
  /** null: the bus wants none, or is not ours. */
  readonly token: string | null | (() => string | null);
  /** What this worker is called in the bus's lists. */
  readonly name: string;
  readonly logger: Logger;
  /** PEM of a certificate to trust beside the system's. */
  readonly ca?: string | null;
  readonly timing?: Partial<BusTiming>;
  /** Told whenever the connection comes or goes. */
  readonly watch?: (connected: boolean) => void;
  /** Told why, whenever an attempt to connect failed or the connection is gone; the next attempt follows by itself. */
  readonly failed?: (reason: string) => void;
}

/** The bus over a websocket: our own engine, or an iii. Connects at once. */
export function connectBus(options: BusOptions): Bus {
  const { url, token, name, logger, ca = null, watch = () => {}, failed = () => {} } = options;
  const timing = { ...usualTiming, ...options.timing };
  const arrivals = new Set<() => void>();
  let closed = false;
  let looks: NodeJS.Timeout | undefined;
  let looking = false;

  const registrations = new Registrations(logger);
  const send = (text: string): boolean => {
    if (!connection.open) return false;
    connection.send(text);
    return true;
  };
  const answers = new Answers({ find: (id) => registrations.find(id), send, logger });
  const calls = new PendingCalls(send, () => connection.problem);
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
      clearInterval(looks);
      watch(false);
      calls.loseSent(reason);
    },
  });

  function opened(): void {
    tell([introduction(name), ...registrations.all()]);
    answers.flush();
    calls.flush();
    looks = setInterval(lookAfter, timing.lookAfterMs);
    logger[levelOfNews()]('connected to the bus');
    watch(true);
    for (const arrived of arrivals) arrived();
  }

  /** Registers again what the bus does not list any more, or did not take before. */
  async function lookAfter(): Promise<void> {
    if (looking) return;
    looking = true;
    const timeoutMs = timing.openingMs;
    try {
      tell(await registrations.missing((id, data) => calls.call(id, data, { timeoutMs })));
    } catch {
      // A bus without these lists, or none at the moment: the next look finds what is missing.
    }
    looking = false;
  }

  function tell(frames: readonly WorkerFrame[]): void {
    for (const frame of frames) connection.send(JSON.stringify(frame));
  }

  function received(frame: EngineFrame): void {
    switch (frame.type) {
      case 'invocationresult':
        calls.settle(frame);
        return;
      case 'invokefunction':
        void answers.answer(frame);
        return;
      case 'ping':
        tell([{ type: 'pong' }]);
        return;
      case 'registrationrejected':
      case 'triggerregistrationresult':
        registrations.refused(frame);
        return;
      default:
        // Of others: this client has no trigger types.
        return;
    }
  }

  return {
    register(functions, triggers = []) {
      tell(registrations.add(functions, triggers));
    },
    call(function_id, data, callOptions = {}) {
      if (closed) return Promise.reject(new BusError('bus_closed', 'the bus was closed here'));
      if (!connection.hasRoom)
        return Promise.reject(new BusError('bus_busy', `${function_id} was not called: the bus is slow`));
      return calls.call(function_id, data, callOptions);
    },
    get connected() {
      return connection.open;
    },
    whenConnected(timeoutMs) {
      if (connection.open) return Promise.resolve();
      if (closed) return Promise.reject(new BusError('bus_closed', 'the bus was closed here'));
      return new Promise((resolve, reject) => {
        const arrived = () => {
          clearTimeout(timer);
          arrivals.delete(arrived);
          resolve();
        };
        const timer = setTimeout(() => {
          arrivals.delete(arrived);
          reject(
            new BusError('not_connected', `no connection within ${timeoutMs} ms: ${connection.problem}`),
          );
        }, timeoutMs);
        arrivals.add(arrived);
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      clearInterval(looks);
      answers.end();
      calls.endAll();
      await connection.close();
    },
  };
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
