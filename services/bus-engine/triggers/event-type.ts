import { conditionOf, type Trigger, type TriggerType } from './trigger.ts';

/** Calls the function of a trigger; resolves when that is over, and never rejects. */
export type FireEvent = (trigger: Trigger, data: unknown) => Promise<void>;

/** Functions of triggers that are called at a time for one token: those who call them otherwise have their turn too. */
const mostAtATime = 16;
/** Of one trigger; of more, the oldest are forgotten. */
const mostWaiting = 32;

interface Watch {
  readonly trigger: Trigger;
  /** What it was not told yet: the last of each subject. */
  readonly waiting: Map<string, unknown>;
  running: boolean;
}

interface Turns {
  readonly ready: Set<Watch>;
  running: number;
}

/** A type that fires all of its triggers when the engine says so, each one thing at a time. */
export class EventType implements TriggerType {
  readonly id: string;
  readonly description: string;
  readonly #fire: FireEvent;
  readonly #watches = new Map<string, Watch>();
  readonly #turns = new Map<string | null, Turns>();

  constructor(id: string, description: string, fire: FireEvent) {
    this.id = id;
    this.description = description;
    this.#fire = fire;
  }

  /** Whether anybody wants to know. */
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
    this.#turns.get(token)?.ready.delete(watch);
  }

  /** @param subject what it is about: what was not told yet of the same one is out of date */
  emit(subject: string, data: unknown): void {
    for (const watch of this.#watches.values()) {
      const { waiting, trigger } = watch;
      waiting.delete(subject);
      waiting.set(subject, data);
      if (waiting.size > mostWaiting) waiting.delete(waiting.keys().next().value!);
      if (!watch.running) this.#turnsOf(trigger.token).ready.add(watch);
    }
    for (const turns of this.#turns.values()) this.#go(turns);
  }

  #go(turns: Turns): void {
    for (const watch of turns.ready) {
      if (turns.running >= mostAtATime) return;
      turns.ready.delete(watch);
      const [next] = watch.waiting;
      if (next === undefined) continue;
      watch.waiting.delete(next[0]);
      watch.running = true;
      turns.running++;
      void this.#fire(watch.trigger, next[1]).finally(() => {
        watch.running = false;
        turns.running--;
        if (watch.waiting.size > 0) turns.ready.add(watch);
        else if (turns.running === 0 && turns.ready.size === 0) this.#turns.delete(watch.trigger.token);
        this.#go(turns);
      });
    }
  }

  #turnsOf(token: string | null): Turns {
    const turns = this.#turns.get(token) ?? { ready: new Set(), running: 0 };
    this.#turns.set(token, turns);
    return turns;
  }
}
