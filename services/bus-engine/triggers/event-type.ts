import { inBackground } from '#kit/callbacks.ts';
import { FairSemaphore } from '#kit/jobs/fair-semaphore.ts';
import { conditionOf, type Trigger, type TriggerType } from './trigger.ts';

/** Calls the function of a trigger; resolves when that is over, and never rejects. */
export type FireEvent = (trigger: Trigger, data: unknown) => Promise<void>;

/** Calls under way for the triggers of one token. */
const maxRunning = 16;
/** Events that wait for one trigger; beyond it the oldest are dropped. */
const maxPending = 32;
/** The limit of Node's timers, in milliseconds. */
const maxWaitMs = 2 ** 31 - 1;

interface Watch {
  readonly trigger: Trigger;
  /** The latest event of each subject that it was not called with yet. */
  readonly waiting: Map<string, unknown>;
  running: boolean;
}

/** A type whose triggers the engine fires itself; each trigger gets one event at a time. */
export class EventType implements TriggerType {
  readonly id: string;
  readonly description: string;
  readonly #fire: FireEvent;
  readonly #watches = new Map<string, Watch>();
  readonly #places = new FairSemaphore(
    { concurrency: Infinity, perCaller: maxRunning, maxPending: Infinity },
    () => new Error('no call of a trigger waits so long'),
  );

  constructor(id: string, description: string, fire: FireEvent) {
    this.id = id;
    this.description = description;
    this.#fire = fire;
  }

  /** Whether it has any trigger. */
  get wanted(): boolean {
    return this.#watches.size > 0;
  }

  register(trigger: Trigger): null {
    conditionOf(trigger);
    this.#watches.set(trigger.id, { trigger, waiting: new Map(), running: false });
    return null;
  }

  unregister({ id }: Trigger): void {
    this.#watches.get(id)?.waiting.clear();
    this.#watches.delete(id);
  }

  /** @param subject replaces a waiting event of the same subject */
  emit(subject: string, data: unknown): void {
    for (const watch of this.#watches.values()) {
      const { waiting } = watch;
      waiting.delete(subject);
      waiting.set(subject, data);
      if (waiting.size > maxPending) waiting.delete(waiting.keys().next().value!);
      if (!watch.running) inBackground('a trigger', () => this.#run(watch));
    }
  }

  async #run(watch: Watch): Promise<void> {
    const { trigger, waiting } = watch;
    watch.running = true;
    while (waiting.size > 0) {
      await this.#places.run(trigger.token ?? '', maxWaitMs, async () => {
        const [next] = waiting;
        if (next === undefined) return;
        waiting.delete(next[0]);
        await this.#fire(trigger, next[1]);
      });
    }
    watch.running = false;
  }
}
