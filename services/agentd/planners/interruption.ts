import { CoreError, Interrupted } from '#kit/errors.ts';

/** Why a planning was stopped from outside. */
export function interruption(signal: AbortSignal): CoreError {
  if (signal.reason instanceof CoreError) return signal.reason;
  return new Interrupted('cancelled', 'planning was cancelled');
}
