import { Cron } from 'croner';
import { guarded } from '#kit/callbacks.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { messageOf } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import { conditionOf, configOf, TriggerRefused, type TriggerType } from '../triggers/trigger.ts';
import type { Binding, BindingStore } from './binding-store.ts';

/** When something is due, by the wall clock. */
interface Expression {
  /** Milliseconds since 1970 of the first tick after that time; null when there is none any more. */
  next(after: number): number | null;
}

/** Lists and ranges of longer ones take long to unfold. */
const maxLength = 200;

/**
 * Six fields, seconds first, and perhaps a seventh for the year; days of the week count from Sunday, 1. Or a name such as `@daily`.
 * @param zone IANA name; the protocol knows none, so that UTC is the default
 * @throws TriggerRefused
 */
function parseExpression(text: unknown, zone: unknown): Expression {
  if (typeof text !== 'string')
    throw new TriggerRefused(
      'expression is required for cron triggers: six fields, for example "0 */5 * * * *"',
    );
  if (text.length > maxLength)
    throw new TriggerRefused(
      `cron expression ${JSON.stringify(text.slice(0, 40))}… has ${text.length} characters: must have at most ${maxLength}`,
    );
  if (typeof zone === 'string' && zone.length > maxLength)
    throw new TriggerRefused(`timezone has ${zone.length} characters: must have at most ${maxLength}`);
  if (zone !== undefined && zone !== null && typeof zone !== 'string')
    throw new TriggerRefused('timezone must be the name of a time zone, for example Europe/Zurich');
  try {
    const mode = text.startsWith('@') ? 'auto' : '6-or-7-parts';
    const cron = new Cron(text, { mode, alternativeWeekdays: true, timezone: zone ?? 'UTC' });
    const expression: Expression = { next: (after) => cron.nextRun(new Date(after))?.getTime() ?? null };
    if (expression.next(0) === null) throw new RangeError('there is no such time');
    return expression;
  } catch (error) {
    const where = zone == null ? '' : ` in the time zone ${JSON.stringify(zone)}`;
    throw new TriggerRefused(
      `cron expression ${JSON.stringify(text.slice(0, 100))}${where}: ${messageOf(error)}`,
    );
  }
}

export interface Clock {
  /** Milliseconds since 1970; people and time servers change it. */
  wall(): number;
  /** Milliseconds that only ever grow. */
  monotonic(): number;
}

interface Tick {
  readonly binding: Binding;
  /** Milliseconds since 1970 of the tick, and of when it was made. */
  readonly scheduled: number;
  readonly actual: number;
}

interface CronClockOptions {
  readonly store: BindingStore;
  readonly clock: Clock;
  /** Whether anybody answers to that function now. */
  readonly hasFunction: (functionId: string) => boolean;
  readonly fire: (tick: Tick) => void;
  readonly logger: Logger;
}

interface Entry {
  binding: Binding;
  readonly expression: Expression;
  due: number | null;
  /** Monotonic time at which it ends unless its worker registers it again; null while a worker holds it, or none has to. */
  endsAt: number | null;
  /** Whether it stays silent: its worker is gone, or has registered others for the function since. */
  silent: boolean;
}

/** A clock that was set back by more than this repeats ticks; by less, it repeats none. */
const stepMs = 60_000;
/** A binding that its worker does not register again within this time after a restart ends. */
const forgottenAfterMs = 15 * 60_000;

/** Of all bindings with one token, on the disk and in memory. */
const maxBytes = 16 * 1024 * 1024;
const minBytes = 1_024;

/**
 * Makes the ticks of cron bindings. The next tick of each is on disk, and is moved on when it was made: a tick that fell into a
 * restart, or found nobody with the function, is made once as soon as it can be. Killed between the call and the note, the tick is
 * made again.
 */
export class CronClock {
  readonly #options: CronClockOptions;
  readonly #entries = new Map<string, Entry>();
  #offset: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: CronClockOptions) {
    this.#options = options;
    this.#offset = this.#offsetNow();
  }

  /** @param binding from disk; one that is not durable waits for its worker */
  restore(binding: Binding): void {
    const expression = this.#expressionOf(binding);
    const next = expression.next(this.#options.clock.wall());
    const due = binding.due === null || (next !== null && binding.due > next) ? next : binding.due;
    const endsAt = binding.durable ? null : this.#options.clock.monotonic() + forgottenAfterMs;
    this.#entries.set(binding.id, { binding, expression, due, endsAt, silent: false });
  }

  /** @throws TriggerRefused, and what SQLite throws */
  add(given: Omit<Binding, 'due'>): void {
    const expression = this.#expressionOf(given);
    const earlier = this.#sameAs(given);
    const next = expression.next(this.#options.clock.wall());
    const binding = { ...given, due: earlier?.due ?? next };
    this.#makeRoom(binding);
    this.#options.store.put(binding);
    if (earlier !== undefined && earlier.binding.id !== given.id) this.#drop(earlier.binding.id);
    this.#entries.set(given.id, { binding, expression, due: binding.due, endsAt: null, silent: false });
    this.#silenceOthers(binding);
  }

  /** The worker that registered it is gone: it may come back and register it again, also under another id. */
  left(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.silent = true;
    entry.endsAt = this.#options.clock.monotonic() + forgottenAfterMs;
  }

  remove(id: string): void {
    if (this.#entries.has(id)) this.#drop(id);
  }

  /** Makes what is due; wakes by itself from now on. */
  start(): void {
    const wake = guarded('the bus engine', () => {
      try {
        this.wake();
      } catch (error) {
        this.#options.logger.error(`the clock of cron bindings stumbled: ${messageOf(error)}`, { error });
      }
      this.#timer = setTimeout(wake, this.#pause());
    });
    this.#timer = setTimeout(wake, 0);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  wake(): void {
    const now = this.#options.clock.wall();
    this.#followClock(now);
    const moved: (readonly [string, number | null])[] = [];
    for (const entry of this.#entries.values()) {
      if (this.#isOver(entry)) continue;
      if (entry.silent || entry.due === null || entry.due > now) continue;
      if (!this.#options.hasFunction(entry.binding.functionId)) continue;
      this.#options.fire({ binding: entry.binding, scheduled: entry.due, actual: now });
      entry.due = entry.expression.next(now);
      moved.push([entry.binding.id, entry.due]);
    }
    if (moved.length === 0) return;
    crashPoint('cron-fired');
    this.#options.store.setDue(moved);
  }

  #expressionOf({ config }: Pick<Binding, 'config'>): Expression {
    const { expression, timezone } = config as { expression?: unknown; timezone?: unknown };
    return parseExpression(expression, timezone);
  }

  /** Under the same id, or what a worker that is gone had registered for the same. */
  #sameAs(given: Omit<Binding, 'due'>): Entry | undefined {
    const config = JSON.stringify(given.config);
    const isSame = ({ binding }: Entry) =>
      binding.functionId === given.functionId &&
      binding.token === given.token &&
      JSON.stringify(binding.config) === config;
    const sameId = this.#entries.get(given.id);
    if (sameId !== undefined && isSame(sameId)) return sameId;
    return [...this.#entries.values()].find((entry) => entry.endsAt !== null && isSame(entry));
  }

  /** Those that rest end before their time where there would be too many. @throws TriggerRefused */
  #makeRoom(wanted: Binding): void {
    const others = [...this.#entries.values()].filter(
      ({ binding }) => binding.token === wanted.token && binding.id !== wanted.id,
    );
    let bytes = others.reduce((sum, { binding }) => sum + bytesOf(binding), bytesOf(wanted));
    for (const { binding, endsAt } of others.toSorted((a, b) => (a.endsAt ?? 0) - (b.endsAt ?? 0))) {
      if (bytes <= maxBytes) return;
      if (endsAt === null) continue;
      this.#drop(binding.id);
      bytes -= bytesOf(binding);
    }
    if (bytes > maxBytes)
      throw new TriggerRefused(
        `the cron triggers of the token ${wanted.token} must have at most ${maxBytes} bytes together, and each counts ${minBytes} more than it has`,
      );
  }

  /** A worker that registers for a function has come back: what it does not register again is not to be made any more. */
  #silenceOthers({ functionId, token }: Binding): void {
    for (const entry of this.#entries.values())
      if (entry.endsAt !== null && entry.binding.functionId === functionId && entry.binding.token === token)
        entry.silent = true;
  }

  #isOver({ endsAt, binding }: Entry): boolean {
    if (endsAt === null || this.#options.clock.monotonic() < endsAt) return false;
    this.#drop(binding.id);
    return true;
  }

  #drop(id: string): void {
    this.#entries.delete(id);
    this.#options.store.remove(id);
  }

  #followClock(now: number): void {
    const offset = this.#offsetNow();
    const step = offset - this.#offset;
    this.#offset = offset;
    if (step > -stepMs) return;
    this.#options.logger.warn(`the clock was set back by ${Math.round(-step / 1000)} s`);
    const moved: (readonly [string, number | null])[] = [];
    for (const entry of this.#entries.values()) {
      entry.due = entry.expression.next(now);
      moved.push([entry.binding.id, entry.due]);
    }
    if (moved.length > 0) this.#options.store.setDue(moved);
  }

  #offsetNow(): number {
    const { clock } = this.#options;
    return clock.wall() - clock.monotonic();
  }

  /** Never long, so that a clock that was set is noticed. */
  #pause(): number {
    const now = this.#options.clock.wall();
    let next = now + 1_000;
    for (const { due, silent } of this.#entries.values())
      if (!silent && due !== null && due > now && due < next) next = due;
    return next - now;
  }
}

function bytesOf({ config, metadata }: Binding): number {
  return minBytes + Buffer.byteLength(JSON.stringify({ config, metadata }));
}

/** `cron` {expression, timezone?, condition_function_id?}. */
export function cronType(clock: CronClock): TriggerType {
  return {
    id: 'cron',
    description: 'Calls a function at times that an expression of six fields gives, seconds first',
    register(trigger) {
      conditionOf(trigger);
      const { id, type, functionId, metadata, token, owner } = trigger;
      clock.add({
        id,
        type,
        functionId,
        config: configOf(trigger),
        metadata,
        token,
        durable: owner === null,
      });
      return null;
    },
    unregister({ id }, why) {
      if (why === 'left') clock.left(id);
      else clock.remove(id);
    },
  };
}

/** What the function of a `cron` trigger is called with. */
export function cronEvent({ binding, scheduled, actual }: Tick): object {
  return {
    trigger: 'cron',
    job_id: binding.id,
    scheduled_time: new Date(scheduled).toISOString(),
    actual_time: new Date(actual).toISOString(),
  };
}
