import { conditionOf, type Trigger, type TriggerType } from './trigger.ts';

/** Calls the function of a trigger; resolves when that is over, and never rejects. */
export type FireEvent = (trigger: Trigger, data: unknown) => Promise<void>;

/** Calls under way for the triggers of one token. */
const maxRunning = 16;
/** Events that wait for one trigger; beyond it the oldest are dropped. */
const maxPending = 32;

interface Watch {
  readonly trigger: Trigger;
  /** The latest event of each subject that it was not called with yet. */
  readonly waiting: Map<string, unknown>;
  running: boolean;
}

interface TokenQueue {
  readonly ready: Set<Watch>;
  running: number;
}

/** A type whose triggers the engine fires itself; each trigger gets one event at a time. */
export class EventType implements TriggerType {
  readonly id: string;
  readonly description: string;
  readonly #fire: FireEvent;
  readonly #watches = new Map<string, Watch>();
  readonly #queues = new Map<string | null, TokenQueue>();

  constructor(id: string, description: string, fire: FireEvent) {
    this.id = id;
    this.description = description;
    this.#fire = fire;
  }

  /** Whether it has any trigger. */
  get wanted(): boolean {
    return this.#watches.size > 0;
  }

  register(trigger: Trigger): void {
    conditionOf(trigger);
    this.#watches.set(trigger.id, { trigger, waiting: new Map(), running: false });
  }

  unregister({ id, token }: Trigger): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    this.#watches.delete(id);
    watch.waiting.clear();
    this.#queues.get(token)?.ready.delete(watch);
  }

  /** @param subject replaces a waiting event of the same subject */
  emit(subject: string, data: unknown): void {
    for (const watch of this.#watches.values()) {
      const { waiting, trigger } = watch;
      waiting.delete(subject);
      waiting.set(subject, data);
      if (waiting.size > maxPending) waiting.delete(waiting.keys().next().value!);
      if (!watch.running) this.#queueOf(trigger.token).ready.add(watch);
    }
    for (const queue of this.#queues.values()) this.#run(queue);
  }

  #run(queue: TokenQueue): void {
    for (const watch of queue.ready) {
      if (queue.running >= maxRunning) return;
      queue.ready.delete(watch);
      const [next] = watch.waiting;
      if (next === undefined) continue;
      watch.waiting.delete(next[0]);
      watch.running = true;
      queue.running++;
      void this.#fire(watch.trigger, next[1]).finally(() => {
        watch.running = false;
        queue.running--;
        if (watch.waiting.size > 0) queue.ready.add(watch);
        else if (queue.running === 0 && queue.ready.size === 0) this.#queues.delete(watch.trigger.token);
        this.#run(queue);
      });
    }
  }

  #queueOf(token: string | null): TokenQueue {
    const queue = this.#queues.get(token) ?? { ready: new Set(), running: 0 };
    this.#queues.set(token, queue);
    return queue;
  }
}
