import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { guarded } from '../callbacks.ts';
import { messageOf } from '../errors.ts';
import type { Signals } from './signals.ts';

export interface SignalTimes {
  /** Milliseconds between two looks while no signals arrive. */
  readonly pollMs: number;
  /** Milliseconds between two looks while they do: a process can die between its commit and its signal. */
  readonly slowPollMs: number;
}

export interface SignalParts {
  readonly config: pg.ClientConfig;
  /** For people. */
  readonly database: string;
  /** On another connection than the one that listens. */
  readonly send: (text: string, values: readonly string[]) => Promise<unknown>;
  readonly warn: (message: string) => void;
}

export const signalTimes: SignalTimes = { pollMs: 400, slowPollMs: 5_000 };

const channel = 'core_changes';
const anything = '*';
const echo = 'echo:';
/** PostgreSQL takes fewer than 8000 bytes. */
const maxBytes = 7_000;
/** Milliseconds between two statements that notify, however much is written. */
const gapMs = 50;
const echoMs = 5_000;
const echoEveryMs = 30_000;
/** Timeout for the end of a connection or of its statement in progress, in ms. */
const maxEndMs = 1_000;
const firstWaitMs = 500;
const maxWaitMs = 60_000;
/** It commits without waiting for the disk: a signal that a crash loses costs time only. */
const notifying = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

/** Connects to listen with the first watcher. */
export function createSignals(
  { config, database, send, warn }: SignalParts,
  { pollMs, slowPollMs }: SignalTimes = signalTimes,
): Signals {
  const watchers = new Set<{ readonly name: string | null; readonly look: () => void }>();
  const pending = new Set<string>();
  const closing = new AbortController();
  const ownEcho = `${echo}${crypto.randomUUID()}`;
  let echoed: () => void = () => {};
  let arrive = false;
  let warned = false;
  let lookedAt = 0;
  let sending: Promise<void> | null = null;
  let listening: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  return {
    notify,
    watch,
    get arrive() {
      return arrive;
    },
    get watched() {
      return watchers.size > 0;
    },
    close,
  };

  function notify(name: string): void {
    pending.add(name);
    sending ??= sendAll();
  }

  async function sendAll(): Promise<void> {
    while (pending.size > 0) {
      const names = [...pending].join(' ');
      pending.clear();
      // Without the signal, other processes find the change at their next look.
      await send(notifying, [channel, names.length > maxBytes ? anything : names]).catch(() => {});
      await setTimeout(gapMs, undefined, { signal: closing.signal }).catch(() => {});
    }
    sending = null;
  }

  function watch(name: string | null, look: () => void): () => void {
    const watcher = { name, look };
    watchers.add(watcher);
    listening ??= listen();
    timer ??= setInterval(guarded('the signals between hosts', poll), pollMs).unref();
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }

  function poll(): void {
    if (!arrive || performance.now() - lookedAt >= slowPollMs) lookAtAll();
  }

  function lookAtAll(): void {
    lookedAt = performance.now();
    for (const { look } of [...watchers]) look();
  }

  function receive({ payload = '' }: pg.Notification): void {
    if (payload === ownEcho) echoed();
    if (payload.startsWith(echo)) return;
    const names = new Set(payload.split(' '));
    const all = names.has(anything);
    for (const { name, look } of [...watchers]) if (all || name === null || names.has(name)) look();
  }

  async function listen(): Promise<void> {
    let waitMs = firstWaitMs;
    while (!closing.signal.aborted) {
      try {
        await listenOnce(() => (waitMs = firstWaitMs));
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!warned)
          warn(
            `no signals arrive from ${database}: ${messageOf(error)}. Changes that others make are looked for every ${pollMs} ms`,
          );
        warned = true;
      }
      await setTimeout(waitMs, undefined, { signal: closing.signal, ref: false }).catch(() => {});
      waitMs = Math.min(2 * waitMs, maxWaitMs);
    }
  }

  /** @throws what ended the connection, or kept signals from arriving on it */
  async function listenOnce(onArrival: () => void): Promise<never> {
    const client = new pg.Client(config);
    const lost = new AbortController();
    client.on('error', (error) => lost.abort(error));
    client.on('end', () => lost.abort(new Error('the connection ended')));
    client.on('notification', guarded('the signals between hosts', receive));
    const ended = AbortSignal.any([lost.signal, closing.signal]);
    try {
      await until(ended, client.connect());
      await until(ended, client.query(`LISTEN ${channel}`));
      for (;;) {
        await askEcho(ended);
        if (!arrive) {
          arrive = true;
          warned = false;
          onArrival();
          lookAtAll();
        }
        await until(ended, setTimeout(echoEveryMs, undefined, { signal: ended, ref: false }));
      }
    } finally {
      arrive = false;
      // A network that swallows everything lets no connection end.
      await inTime(client.end());
    }
  }

  /**
   * Sends a signal on another connection while the listening connection is idle. PgBouncer in transaction mode passes on only
   * notifications that a client sends on its own connection.
   */
  async function askEcho(ended: AbortSignal): Promise<void> {
    const back = Promise.withResolvers<void>();
    echoed = back.resolve;
    const late = setTimeout(echoMs, undefined, { ref: false }).then(() => {
      throw new Error(
        'a notification did not come back; PgBouncer in transaction mode, for example, carries none',
      );
    });
    await until(ended, Promise.race([send(notifying, [channel, ownEcho]).then(() => back.promise), late]));
  }

  async function close(): Promise<void> {
    watchers.clear();
    clearInterval(timer);
    closing.abort(new Error('closed'));
    await Promise.all([sending === null ? null : inTime(sending), listening]);
  }
}

/** @throws the reason of `ended`, if it is aborted first */
async function until<T>(ended: AbortSignal, work: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>();
  const end = guarded('the signals between hosts', () => over.reject(ended.reason));
  if (ended.aborted) end();
  ended.addEventListener('abort', end);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    ended.removeEventListener('abort', end);
  }
}

/** Waits for work that may never end, with a timeout. */
async function inTime(work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), setTimeout(maxEndMs, undefined, { ref: false })]);
}
