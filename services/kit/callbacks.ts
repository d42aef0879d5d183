import { channel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import type { Logger } from './log.ts';

/** An error that no caller sees. */
export interface CallbackFailure {
  /** What the callback belongs to: `a sandbox`. */
  readonly what: string;
  readonly error: unknown;
}

const failures = channel('core:callback-failed');

/**
 * A callback of a timer, an event or a stream that does not end its process: what it throws, or its promise rejects with, is
 * logged. Each such callback of a service is one of these; a test reads the sources.
 * @param onError ends the operation with the error, where a caller would otherwise wait for it in vain
 */
export function guarded<A extends readonly unknown[]>(
  what: string,
  work: (...args: A) => unknown,
  onError?: (error: unknown) => void,
): (...args: A) => void {
  const failed = (error: unknown) => {
    if (onError === undefined) report({ what, error });
    else
      attempt(
        () => onError(error),
        (worse) => report({ what, error: worse }),
      );
  };
  return (...args) => attempt(() => work(...args), failed);
}

/** Starts work that no caller waits for; what fails is logged. */
export function inBackground(what: string, work: () => unknown): void {
  guarded(what, work)();
}

function attempt(work: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = work();
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}

function report(failure: CallbackFailure): void {
  if (failures.hasSubscribers) failures.publish(failure);
  else process.stderr.write(`core: ${textOf(failure)}\n`);
}

function textOf({ what, error }: CallbackFailure): string {
  return `${what}: a callback failed: ${error instanceof Error ? error.message : inspect(error)}`;
}

/** Logs what fails in callbacks of this process; the same failure once a minute, however often its timer fires. */
export function logCallbackFailures(logger: Pick<Logger, 'error'>): void {
  const logged = new Map<string, number>();
  failures.subscribe((message) => {
    const failure = message as CallbackFailure;
    const text = textOf(failure);
    const now = performance.now();
    if (now - (logged.get(text) ?? Number.NEGATIVE_INFINITY) < repeatMs) return;
    if (logged.size >= maxRemembered) logged.clear();
    logged.set(text, now);
    logger.error(text, { error: failure.error });
  });
}

const repeatMs = 60_000;
const maxRemembered = 100;
