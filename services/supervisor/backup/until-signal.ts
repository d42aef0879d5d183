import { Interrupted } from '#kit/errors.ts';

/** Does work that a signal ends in order: what it has begun is taken back. */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) =>
    controller.abort(new Interrupted('interrupted', `interrupted by ${name}; nothing of it is left`));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.once(name, stop);
  try {
    return await work(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    for (const name of signals) process.off(name, stop);
  }
}
